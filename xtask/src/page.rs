//! Builds the page with trunk, compresses it ahead of time and holds it to its size.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::command::{Command, Failure, say, target_dir};
use crate::{root, setup};

/// What the page's wasm and script should weigh together after brotli 11 at the most.
const GOAL_BYTES: usize = 150_000;
/// What they may not exceed while the goal is missed; only ever lowered.
const CEILING_BYTES: usize = 205_000;

/// What the page is made of; when none of it is newer than the last build there is nothing to do.
const SOURCES: [&str; 7] = [
    "frontend",
    "shared/src",
    "shared/Cargo.toml",
    "index.html",
    "Trunk.toml",
    "Cargo.toml",
    "Cargo.lock",
];

/// Builds `dist/` unless it is up to date.
pub(crate) fn build() -> Result<(), Failure> {
    let dist = root().join("dist");
    let stamp = dist.join(".built");
    let built = fs::metadata(&stamp).and_then(|meta| meta.modified()).ok();
    let changed = SOURCES
        .iter()
        .filter_map(|source| newest(&root().join(source)))
        .max();
    if built.zip(changed).is_some_and(|(built, changed)| built > changed) {
        say("the page is up to date");
        return Ok(());
    }

    let toolchain = setup::for_page()?;
    say("building the page");
    let mut trunk = Command::new("trunk");
    trunk.args(["build", "--release", "--offline"]);
    // Another compiler may build the page than builds the rest: in one folder they would rebuild each other's work.
    trunk.env("CARGO_TARGET_DIR", target_dir().join("wasm"));
    // trunk takes the value `1` of this common variable for a malformed switch.
    trunk.env_remove("NO_COLOR");
    for (name, value) in &toolchain.env {
        trunk.env(name, value);
    }
    fetch_dependencies()?;
    trunk.run()?;
    let weight = compress(&dist)?;
    let verdict = if weight <= GOAL_BYTES { "kept" } else { "MISSED" };
    say(&format!(
        "the page's wasm and script weigh {weight} bytes after brotli: the goal of {GOAL_BYTES} is {verdict}"
    ));
    if weight > CEILING_BYTES {
        return Err(Failure::Rule(format!(
            "the page is over its ceiling of {CEILING_BYTES} bytes"
        )));
    }
    fs::write(&stamp, "").map_err(Failure::file(&stamp))
}

/// trunk runs offline, so that it never fetches tools; the crates must be there before.
fn fetch_dependencies() -> Result<(), Failure> {
    crate::command::cargo().args(["fetch", "--locked"]).run()
}

fn newest(path: &Path) -> Option<SystemTime> {
    let meta = fs::metadata(path).ok()?;
    let own = meta.modified().ok();
    if !meta.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).ok()?;
    entries
        .filter_map(|entry| newest(&entry.ok()?.path()))
        .chain(own)
        .max()
}

/// Writes `.br` and `.gz` beside every text and wasm file; gives the brotli size of wasm and script together.
fn compress(dist: &Path) -> Result<usize, Failure> {
    let mut weight = 0;
    for file in files(dist)? {
        let extension = file
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or_default();
        if !["html", "js", "wasm", "css", "svg"].contains(&extension) {
            continue;
        }
        let content = fs::read(&file).map_err(Failure::file(&file))?;
        let brotli = brotli(&content).map_err(Failure::file(&file))?;
        if ["js", "wasm"].contains(&extension) {
            weight += brotli.len();
        }
        write_beside(&file, "br", &brotli)?;
        write_beside(&file, "gz", &gzip(&content).map_err(Failure::file(&file))?)?;
    }
    Ok(weight)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(Failure::file(folder))? {
        let path = entry.map_err(Failure::file(folder))?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

fn write_beside(file: &Path, extension: &str, content: &[u8]) -> Result<(), Failure> {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    let path = PathBuf::from(name);
    fs::write(&path, content).map_err(Failure::file(&path))
}

fn brotli(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressed = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: 11,
        ..Default::default()
    };
    brotli::BrotliCompress(&mut &content[..], &mut compressed, &parameters)?;
    Ok(compressed)
}

fn gzip(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}
