//! `roundtrip probe`: the same run as the page's, in a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use shared::{Document, RunEvent};
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::args::{ProbeArgs, UsageError};
use super::table;
use crate::probe::{ProbeSettings, check_plan};
use crate::run::{RunError, execute};

/// Most redirects that `--follow` goes along.
const MAX_REDIRECTS: u32 = 10;

/// How much of what was asked for could be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Every arm.
    All,
    /// Some exchanges failed.
    Partly,
    /// No exchange succeeded.
    Nothing,
}

/// Why a probe gave no result.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// An option cannot be used.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The certificates of `--cacert` cannot be read.
    #[error("--cacert {path}: {message}")]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The plan cannot be carried out.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The result could not be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] io::Error),
}

/// Probes and prints.
///
/// # Errors
/// When there is nothing to print.
pub async fn probe(mut args: ProbeArgs, cancel: &CancellationToken) -> Result<Measured, ProbeError> {
    let Some(mut url) = args.url.clone() else {
        io::stdout().write_all(table::definitions().as_bytes())?;
        return Ok(Measured::All);
    };
    let settings = settings(&args)?;
    for _redirect in 0..=MAX_REDIRECTS {
        let document = run(&args, &url, &settings, cancel).await?;
        let next = redirect(&document).filter(|_| args.follow);
        // A reader of JSON gets one document: where the redirects led.
        if !args.json || next.is_none() {
            print(&args, &document)?;
        }
        match next {
            Some(location) => {
                if !same_origin(&document.plan.url, &location) {
                    args = for_another_origin(args);
                }
                url = location;
            }
            None => return Ok(measured(&document)),
        }
    }
    Err(ProbeError::Usage(UsageError {
        option: "--follow",
        message: format!("more than {MAX_REDIRECTS} redirects"),
    }))
}

fn same_origin(a: &str, b: &str) -> bool {
    match (Url::parse(a), Url::parse(b)) {
        (Ok(a), Ok(b)) => a.origin() == b.origin(),
        _ => false,
    }
}

/// What was given for one origin is not sent to another.
fn for_another_origin(args: ProbeArgs) -> ProbeArgs {
    let secret = |field: &str| {
        let name = field.split(':').next().unwrap_or_default().trim();
        ["authorization", "cookie", "proxy-authorization"]
            .iter()
            .any(|secret| name.eq_ignore_ascii_case(secret))
    };
    ProbeArgs {
        resolve: None,
        headers: args
            .headers
            .iter()
            .filter(|field| !secret(field))
            .cloned()
            .collect(),
        ..args
    }
}

fn settings(args: &ProbeArgs) -> Result<ProbeSettings, ProbeError> {
    let extra_roots = match &args.cacert {
        Some(path) => certificates(path)?,
        None => Vec::new(),
    };
    Ok(ProbeSettings {
        allow_private: args.allow_private,
        extra_roots: Arc::new(extra_roots),
        resolver: args.resolver,
    })
}

fn certificates(path: &PathBuf) -> Result<Vec<CertificateDer<'static>>, ProbeError> {
    let fail = |message: String| ProbeError::Certificates {
        path: path.clone(),
        message,
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| fail(error.to_string()))?;
    if certificates.is_empty() {
        return Err(fail("holds no certificate".into()));
    }
    Ok(certificates)
}

async fn run(
    args: &ProbeArgs,
    url: &str,
    settings: &ProbeSettings,
    cancel: &CancellationToken,
) -> Result<Document, ProbeError> {
    let mut seed = [0; 4];
    getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
    let plan = args.plan(url, u32::from_ne_bytes(seed).into())?;
    check_plan(&plan).map_err(|fault| UsageError {
        option: fault.field,
        message: fault.message,
    })?;
    let mut progress = Progress::new();
    // Large, as it holds the state of three protocols.
    let document = Box::pin(execute(
        plan,
        settings,
        &mut |event| progress.on_event(&event),
        cancel,
    ))
    .await;
    progress.end();
    Ok(document?)
}

fn print(args: &ProbeArgs, document: &Document) -> Result<(), ProbeError> {
    let mut text = if args.json {
        serde_json::to_string_pretty(document).map_err(io::Error::other)?
    } else {
        table::render(document)
    };
    text.push('\n');
    if args.explain && !args.json {
        text.push_str(&table::definitions());
    }
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Where the response points to, if all that was measured is a redirect.
fn redirect(document: &Document) -> Option<String> {
    let mut measured = document
        .arms
        .iter()
        .flat_map(|arm| &arm.samples)
        .filter(|sample| sample.failure.is_none());
    let location = measured.next()?.facts.redirect.clone()?;
    measured
        .all(|sample| sample.facts.redirect.as_ref() == Some(&location))
        .then_some(location)
}

fn measured(document: &Document) -> Measured {
    let ok = document.arms.iter().any(|arm| arm.summary.ok > 0);
    let failed = document.arms.iter().any(|arm| arm.summary.failed > 0);
    match (ok, failed) {
        (true, false) => Measured::All,
        (true, true) => Measured::Partly,
        (false, _) => Measured::Nothing,
    }
}

/// How far the run has come, on one line of a terminal; nothing where standard error is none.
struct Progress {
    shown: bool,
    expected: u32,
    landed: u32,
}

impl Progress {
    fn new() -> Self {
        Self {
            shown: io::stderr().is_terminal(),
            expected: 0,
            landed: 0,
        }
    }

    fn on_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started { expected, .. } => self.expected = *expected,
            RunEvent::Sample { .. } => self.landed += 1,
            RunEvent::Queued { .. }
            | RunEvent::Finished { .. }
            | RunEvent::Failed { .. }
            | RunEvent::Cancelled => {}
        }
        self.write(&format!("\r{} of {} samples", self.landed, self.expected));
    }

    fn end(&self) {
        self.write("\r\u{1b}[K");
    }

    fn write(&self, text: &str) {
        if self.shown && io::stderr().write_all(text.as_bytes()).is_err() {
            tracing::trace!("progress could not be shown");
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::args::{Cli, Command};
    use super::*;

    #[test]
    fn secrets_and_addresses_of_one_origin_do_not_follow_a_redirect_to_another() {
        let line = "roundtrip probe https://a.example/ -H Cookie:a=1 -H authorization:x -H x-kept:1 --resolve \
                    a.example:443:192.0.2.1";
        let Command::Probe(args) = Cli::parse_from(line.split_whitespace()).command else {
            panic!("does not probe");
        };
        let args = for_another_origin(args);
        assert_eq!(args.headers, ["x-kept:1"]);
        assert_eq!(args.resolve, None);
        assert!(same_origin("https://a.example/x", "https://a.example:443/y"));
        assert!(!same_origin("https://a.example/", "http://a.example/"));
    }
}
