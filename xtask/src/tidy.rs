//! The house rules as a check: layers, first lines, file lengths, paths named in documents.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;

/// The most lines a source file may have before its tests.
const MOST_LINES: usize = 500;

/// Inside the backend the compiler does not order modules: folder, and which `crate::` modules it may not name.
const LAYERS: [(&str, &[&str]); 5] = [
    ("backend/src/probe", &["api", "run", "store", "cli", "origin"]),
    ("backend/src/run", &["api", "store", "cli", "origin"]),
    ("backend/src/store", &["api", "run", "probe", "cli", "origin"]),
    ("backend/src/origin", &["run", "store", "cli"]),
    ("backend/src/api", &["cli"]),
];

/// Folders of pure logic: no sockets, no browser, no async runtime.
const PURE: [(&str, &[&str]); 6] = [
    (
        "backend/src/probe/observe",
        &[
            "tokio::net",
            "tokio::time",
            "tokio::io",
            "std::net::Tcp",
            "std::net::Udp",
            "clock::",
        ],
    ),
    (
        "backend/src/probe/guard.rs",
        &[
            "tokio::net",
            "tokio::time",
            "tokio::io",
            "std::net::Tcp",
            "std::net::Udp",
            "clock::",
        ],
    ),
    (
        "backend/src/probe/events.rs",
        &[
            "tokio::net",
            "tokio::time",
            "tokio::io",
            "std::net::Tcp",
            "std::net::Udp",
            "clock::",
        ],
    ),
    ("frontend/src/state", &["web_sys", "js_sys", "gloo"]),
    ("frontend/src/plot", &["web_sys", "js_sys", "gloo"]),
    ("frontend/src/route.rs", &["web_sys", "js_sys", "gloo"]),
];

/// Checks every rule and reports all violations at once.
pub(crate) fn check(root: &Path) -> Result<(), Failure> {
    let mut broken = Vec::new();
    let sources: Vec<PathBuf> = ["shared", "backend", "frontend", "tests", "xtask"]
        .iter()
        .flat_map(|member| rust_files(&root.join(member)))
        .collect();
    for file in &sources {
        let text = fs::read_to_string(file).map_err(Failure::file(file))?;
        let name = file
            .strip_prefix(root)
            .unwrap_or(file)
            .display()
            .to_string()
            .replace('\\', "/");
        check_source(&name, &text, &mut broken);
    }
    for document in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"] {
        let file = root.join(document);
        let text = fs::read_to_string(&file).map_err(Failure::file(&file))?;
        for path in paths_named(&text).filter(|path| !root.join(path).exists()) {
            broken.push(format!("{document}: names `{path}`, which does not exist"));
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(Failure::Rule(broken.join("\n")))
    }
}

fn check_source(name: &str, text: &str, broken: &mut Vec<String>) {
    if !text.starts_with("//!") {
        broken.push(format!(
            "{name}: does not begin with a `//!` line that says what the file is for"
        ));
    }
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let lines = code.lines().count();
    if lines > MOST_LINES {
        broken.push(format!(
            "{name}: {lines} lines before its tests, more than {MOST_LINES}"
        ));
    }
    for (folder, forbidden) in LAYERS.iter().filter(|(folder, _)| name.starts_with(folder)) {
        for module in forbidden
            .iter()
            .filter(|module| code.contains(&format!("crate::{module}::")))
        {
            broken.push(format!("{name}: {folder} must not know crate::{module}"));
        }
    }
    for (folder, forbidden) in PURE.iter().filter(|(folder, _)| name.starts_with(folder)) {
        for word in forbidden.iter().filter(|word| code.contains(**word)) {
            broken.push(format!("{name}: {folder} is pure and must not use {word}"));
        }
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// What stands in back-quotes and looks like a path of this repository.
fn paths_named(text: &str) -> impl Iterator<Item = &str> {
    const TOPS: [&str; 7] = [
        "shared/",
        "backend/",
        "frontend/",
        "tests/",
        "xtask/",
        "docs/",
        ".cargo/",
    ];
    text.split('`').skip(1).step_by(2).filter(|word| {
        TOPS.iter().any(|top| word.starts_with(top)) && !word.contains([' ', '*', '<', '{', '\n'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_reaches_up_is_named() {
        let mut broken = Vec::new();
        check_source(
            "backend/src/probe/x.rs",
            "//! X.\nuse crate::api::Y;\n",
            &mut broken,
        );
        assert_eq!(
            broken,
            ["backend/src/probe/x.rs: backend/src/probe must not know crate::api"]
        );
    }

    #[test]
    fn only_paths_are_taken_for_paths() {
        let text = "See `shared/src/phase.rs`, `cargo xtask test`, `tests/e2e/*.rs` and `backend/`.";
        assert_eq!(
            paths_named(text).collect::<Vec<_>>(),
            ["shared/src/phase.rs", "backend/"]
        );
    }
}
