//! `cargo xtask …`: set-up, build, run and test of Roundtrip; the only place that knows about toolchains.

mod command;
mod page;
mod setup;
mod tidy;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command::{Failure, cargo, say};

const HELP: &str = "\
cargo xtask <command>

  serve [args]   build everything and serve the product on http://localhost:8080
                 (arguments go to `roundtrip serve`; see `roundtrip serve --help`)
  test           set up and run all tests: unit, property and end-to-end (real servers, a real browser)
  lint           formatting, clippy and the house rules
  deny           licences, banned crates and sources of all dependencies (advisories need the network:
                 `cargo deny check advisories`)
  page           build the page only, and check its size
  setup          install what building and testing need, and nothing else
  help           this text";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (command, rest) = arguments
        .split_first()
        .map_or(("help", &[][..]), |(first, rest)| (first.as_str(), rest));
    let outcome = match command {
        "serve" => serve(rest),
        "test" => test(),
        "lint" => lint(),
        "deny" => deny(),
        "page" => page::build(),
        "setup" => setup::for_page().and_then(|_| setup::for_tests()),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(())
        }
        other => Err(Failure::Usage(format!("unknown command `{other}`\n\n{HELP}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Builds page and backend and runs the product. Probes of the user's own network are allowed, because only this
/// machine can reach the server.
fn serve(arguments: &[String]) -> Result<(), Failure> {
    page::build()?;
    say("building the backend (release)");
    cargo()
        .args(["build", "--release", "--package", "backend"])
        .run()?;
    let binary = command::target_dir()
        .join("release")
        .join(command::executable("roundtrip"));
    let listens_elsewhere = arguments
        .iter()
        .any(|argument| argument == "--listen" || argument.starts_with("--listen="));
    let mut product = command::Command::new(&binary);
    product.args(["serve"]);
    if !listens_elsewhere {
        say("serving on loopback only, where private targets are allowed (--allow-private)");
        product.args(["--allow-private"]);
    }
    product.args(arguments).run()
}

/// Runs every test. The page and the backend's binary are built first, because the end-to-end tests use them.
fn test() -> Result<(), Failure> {
    setup::for_tests()?;
    page::build()?;
    say("building the binary the end-to-end tests start");
    // The whole workspace, as the tests are built: alone, its crates would be built with other features, and so twice.
    cargo().args(["build", "--workspace"]).run()?;
    say("running all tests");
    cargo().args(["test", "--workspace", "--no-fail-fast"]).run()
}

/// Checks what the project depends on, without the network.
fn deny() -> Result<(), Failure> {
    setup::for_deny()?;
    say("licences, banned crates, sources");
    // Also the crates of other platforms, which no build here has fetched.
    cargo().args(["fetch", "--locked"]).run()?;
    cargo()
        .args(["deny", "--offline", "check", "licenses", "bans", "sources"])
        .run()
}

/// Everything that can be said about the sources without running them.
fn lint() -> Result<(), Failure> {
    say("formatting");
    cargo().args(["fmt", "--all", "--check"]).run()?;
    say("house rules");
    tidy::check(&root())?;
    say("clippy");
    cargo()
        .args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ])
        .run()
}
