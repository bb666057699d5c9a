//! Running other programs: what is said, and what a failure tells the user.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process;

use thiserror::Error;

use crate::root;

/// Why a task did not succeed, and what the user can do.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The command line is not understood.
    #[error("{0}")]
    Usage(String),
    /// A program could not be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// A program ran and failed.
    #[error("`{0}` failed")]
    Failed(String),
    /// A tool is missing and could not be installed from here.
    #[error("{what} is missing. {advice}")]
    Missing {
        /// The tool.
        what: String,
        /// What to type.
        advice: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A rule of the house is broken.
    #[error("{0}")]
    Rule(String),
}

impl Failure {
    /// For `map_err` on file operations.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::File { path, source }
    }
}

/// Says what is being done.
pub(crate) fn say(text: &str) {
    eprintln!("xtask: {text}");
}

/// A program to run in the workspace's folder, with its words kept for messages.
pub(crate) struct Command {
    inner: process::Command,
    words: String,
}

impl Command {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let words = program.as_ref().to_string_lossy().into_owned();
        let mut inner = process::Command::new(program);
        inner.current_dir(root());
        Self { inner, words }
    }

    pub(crate) fn args<S: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = S>) -> &mut Self {
        for argument in arguments {
            self.words.push(' ');
            self.words.push_str(&argument.as_ref().to_string_lossy());
            self.inner.arg(argument);
        }
        self
    }

    pub(crate) fn env(&mut self, name: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.inner.env(name, value);
        self
    }

    pub(crate) fn env_remove(&mut self, name: &str) -> &mut Self {
        self.inner.env_remove(name);
        self
    }

    /// Runs to the end with the terminal's input and output.
    pub(crate) fn run(&mut self) -> Result<(), Failure> {
        let status = self.inner.status().map_err(|source| self.not_started(source))?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::Failed(self.words.clone()))
        }
    }

    /// Runs to the end and gives what it printed on standard output; `None` when it cannot be started or fails.
    pub(crate) fn output(&mut self) -> Option<String> {
        let output = self.inner.stderr(process::Stdio::null()).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn not_started(&self, source: std::io::Error) -> Failure {
        Failure::Start {
            program: self.words.clone(),
            source,
        }
    }
}

/// The cargo that runs this task, as an ordinary build sees it: cargo hands its own settings for this package to
/// `xtask`, and they must not reach the children.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_PKG_NAME");
    cargo
}

/// Where cargo builds.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The file name of a program on this platform.
pub(crate) fn executable(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}

/// The first file of this name in `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(executable(name)))
        .find(|file| file.is_file())
}
