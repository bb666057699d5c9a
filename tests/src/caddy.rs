//! A real server: Caddy over HTTP/1.1, HTTP/2 and HTTP/3 with a certificate of its own local authority.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PublicKeyData as _};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::ports;
use crate::process::Program;

/// The body of `/`.
pub const BODY: &str = "Hello from a real server.";

/// A running Caddy. Ends when dropped.
pub struct Caddy {
    /// Its port on `localhost`.
    pub port: u16,
    program: Program,
    folder: TempDir,
}

impl Caddy {
    /// Starts it with the protocols named: any of `h1`, `h2`, `h3`.
    ///
    /// # Panics
    /// When it does not become ready; with all it said.
    pub fn start(program: &Path, protocols: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = ports::free();
        let config = folder.path().join("Caddyfile");
        fs::write(&config, caddyfile(port, protocols)).expect("the configuration");
        let mut command = Command::new(program);
        command
            .args(["run", "--adapter", "caddyfile", "--config"])
            .arg(&config)
            .env("XDG_DATA_HOME", folder.path().join("data"))
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            .env("HOME", folder.path());
        let mut program = Program::start(command);
        program.wait_for(|line| line.contains("serving initial configuration").then_some(()));
        let caddy = Self {
            port,
            program,
            folder,
        };
        // It obtains its certificate after it says that it serves.
        let deadline = Instant::now() + Duration::from_secs(20);
        while !(caddy.root().is_file() && caddy.leaf_key().is_file()) {
            assert!(
                Instant::now() < deadline,
                "no certificate: {}",
                caddy.program.said()
            );
            thread::sleep(Duration::from_millis(20));
        }
        caddy
    }

    /// Its URL for a path.
    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// The root of its local authority as PEM, for `--cacert`.
    pub fn root(&self) -> PathBuf {
        self.folder
            .path()
            .join("data/caddy/pki/authorities/local/root.crt")
    }

    /// SHA-256 of its certificate's subject public key info, base64, as Chromium wants it.
    ///
    /// # Panics
    /// When its key cannot be read.
    pub fn spki(&self) -> String {
        let pem = fs::read_to_string(self.leaf_key()).expect("its key");
        let key = KeyPair::from_pem(&pem).expect("a key");
        STANDARD.encode(Sha256::digest(key.subject_public_key_info()))
    }

    fn leaf_key(&self) -> PathBuf {
        self.folder
            .path()
            .join("data/caddy/certificates/local/localhost/localhost.key")
    }
}

fn caddyfile(port: u16, protocols: &str) -> String {
    let loopback = if ports::has_ipv6() {
        "127.0.0.1 ::1"
    } else {
        "127.0.0.1"
    };
    format!(
        r#"{{
    admin off
    skip_install_trust
    auto_https disable_redirects
    servers {{
        protocols {protocols}
    }}
}}
https://localhost:{port} {{
    bind {loopback}
    tls internal
    header Timing-Allow-Origin *
    header Access-Control-Allow-Origin *
    header Access-Control-Expose-Headers "alt-svc, server-timing"
    respond / "{BODY}"
    redir /moved /
    respond /missing 404
}}
"#
    )
}
