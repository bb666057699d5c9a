//! The binary `roundtrip`: parses the command line, runs it and decides on the exit status.

use std::process::ExitCode;

use backend::cli::args::{Cli, Command, ProbeArgs};
use backend::cli::probe::{Measured, ProbeError, probe};
use backend::cli::serve::{ServeArgs, serve};
use backend::run::RunError;
use clap::Parser as _;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// Some arm failed.
const PARTLY: u8 = 1;
/// The command line cannot be used; clap exits with the same.
const USAGE: u8 = 2;
/// Nothing could be measured, or nothing could be served.
const NOTHING: u8 = 3;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let quiet = match cli.command {
        Command::Probe(_) => "off",
        Command::Serve(_) => "info",
    };
    let filter = EnvFilter::try_from_env("ROUNDTRIP_LOG").unwrap_or_else(|_error| EnvFilter::new(quiet));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match cli.command {
        Command::Probe(args) => probe_status(args),
        Command::Serve(args) => serve_status(args),
    }
}

fn probe_status(args: ProbeArgs) -> ExitCode {
    // One thread: nothing may run beside a timed sample.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let measured = match runtime {
        Ok(runtime) => runtime.block_on(async {
            let cancel = CancellationToken::new();
            let stop = cancel.clone();
            tokio::spawn(async move {
                if tokio::signal::ctrl_c().await.is_ok() {
                    stop.cancel();
                }
            });
            probe(args, &cancel).await
        }),
        Err(error) => Err(ProbeError::Output(error)),
    };
    match measured {
        Ok(Measured::All) => ExitCode::SUCCESS,
        Ok(Measured::Partly) => ExitCode::from(PARTLY),
        Ok(Measured::Nothing) => ExitCode::from(NOTHING),
        Err(error) => {
            eprintln!("roundtrip: {error}");
            ExitCode::from(match error {
                ProbeError::Usage(_) | ProbeError::Certificates { .. } => USAGE,
                ProbeError::Run(RunError::Plan { .. } | RunError::Cancelled) | ProbeError::Output(_) => {
                    NOTHING
                }
            })
        }
    }
}

fn serve_status(args: ServeArgs) -> ExitCode {
    let served = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime.block_on(serve(args)),
        Err(error) => Err(error.into()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("roundtrip: {error}");
            ExitCode::from(if error.is_usage() { USAGE } else { NOTHING })
        }
    }
}
