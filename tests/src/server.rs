//! The product's server: page, API and test origin on ports of their own, with a database of its own.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::client::Client;
use crate::ports;
use crate::process::Program;
use crate::programs::roundtrip;

/// A running `roundtrip serve`. Ends when dropped.
pub struct Server {
    /// Where the page and the API are, such as `http://127.0.0.1:40123`.
    pub page: String,
    /// The test origin, such as `https://localhost:20123`.
    pub origin: String,
    /// SHA-256 of the subject public key info of the origin's certificate, base64, as Chromium wants it.
    pub spki: String,
    _program: Program,
    folder: TempDir,
}

impl Server {
    /// Starts it with private targets allowed.
    pub fn start() -> Self {
        Self::start_with(&["--allow-private"])
    }

    /// Starts it with these options.
    ///
    /// # Panics
    /// When it does not become ready; with all it said.
    pub fn start_with(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = ports::free();
        let mut command = Command::new(roundtrip());
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(["--origin-listen", &format!("127.0.0.1:{port}")])
            .arg("--print-cert")
            .arg(folder.path().join("origin.pem"))
            .args(options);
        if !["--no-store", "--database"]
            .iter()
            .any(|given| options.contains(given))
        {
            command
                .arg("--database")
                .arg(folder.path().join("results.sqlite"));
        }
        if ports::has_ipv6() {
            command.args(["--origin-listen", &format!("[::1]:{port}")]);
        }
        let mut program = Program::start(command);
        let (mut page, mut origin, mut spki) = (None, None, None);
        program.wait_for(|line| {
            if let Some(url) = value(line, "page: ") {
                page = Some(url);
            } else if let Some(url) = value(line, "origin: ") {
                origin = Some(url);
            } else if let Some(hash) = value(line, "origin certificate SPKI sha256: ") {
                spki = Some(hash);
            }
            (page.is_some() && origin.is_some() && spki.is_some()).then_some(())
        });
        Self {
            page: page.unwrap_or_default(),
            origin: origin.unwrap_or_default(),
            spki: spki.unwrap_or_default(),
            _program: program,
            folder,
        }
    }

    /// The origin's certificate as PEM, for `--cacert`.
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("origin.pem")
    }

    /// `host:port` of the test origin.
    pub fn origin_authority(&self) -> &str {
        self.origin.trim_start_matches("https://")
    }

    /// A client of its API.
    pub fn client(&self) -> Client {
        Client::new(&self.page)
    }
}

fn value(line: &str, name: &str) -> Option<String> {
    let value = line.strip_prefix(name)?;
    Some(value.trim().trim_end_matches('/').to_owned())
}
