//! Where the programs are that tests start, and what happens when one is missing.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The workspace's folder.
pub fn workspace() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// The binary under test: `ROUNDTRIP_BIN`, or the one beside this test's own in the target folder.
///
/// # Panics
/// When it is not built.
pub fn roundtrip() -> PathBuf {
    if let Some(given) = env::var_os("ROUNDTRIP_BIN") {
        return given.into();
    }
    let own = env::current_exe().expect("a test knows its own path");
    // target/debug/deps/e2e-… -> target/debug/roundtrip
    let built = own
        .parent()
        .and_then(Path::parent)
        .expect("tests run from the target folder")
        .join(format!("roundtrip{}", env::consts::EXE_SUFFIX));
    assert!(
        built.is_file(),
        "{} is missing: type `cargo build --package backend`, or `cargo xtask test` for everything",
        built.display()
    );
    built
}

/// The path of `program`, or `None` with a visible note that the test is skipped.
///
/// # Panics
/// When it is missing and the environment says `CI`: there a skipped test would be taken for a passed one.
pub fn need(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file());
    if found.is_none() {
        skip(&format!("`{program}` is not installed"));
    }
    found
}

/// Says visibly that a test is skipped.
///
/// # Panics
/// Under `CI`.
pub fn skip(why: &str) {
    assert!(
        env::var_os("CI").is_none(),
        "{why}, and under CI nothing is skipped"
    );
    let test = std::thread::current().name().unwrap_or("test").to_owned();
    // Not through `eprintln`, whose output is captured and shown only for tests that fail.
    let said = writeln!(std::io::stderr(), "SKIPPED: {test}: {why}");
    assert!(said.is_ok(), "standard error is closed");
}
