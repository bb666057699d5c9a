//! Installs what building and testing need: quick when nothing is to do, and in words when it cannot.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::command::{Command, Failure, find_program, say, target_dir};
use crate::root;

const CARGO_DENY_VERSION: &str = "0.20.2";
const TRUNK_VERSION: &str = "0.21.14";
/// Must be the version of the `wasm-bindgen` library in the workspace's `Cargo.toml`.
const WASM_BINDGEN_VERSION: &str = "0.2.130";

/// How the page is built: with which environment `trunk` runs.
pub(crate) struct PageToolchain {
    /// Variables for the child process only; exported they would hit ordinary builds.
    pub(crate) env: Vec<(&'static str, OsString)>,
}

/// Makes sure that the page can be built.
pub(crate) fn for_page() -> Result<PageToolchain, Failure> {
    let mut env = wasm_target()?;
    // trunk ends builds by itself only with tools of the very version it asks for; it must not download any.
    cargo_tool("trunk", TRUNK_VERSION, &["--locked"])?;
    // Its lock file names a version that is not published everywhere, so without `--locked`.
    cargo_tool("wasm-bindgen-cli", WASM_BINDGEN_VERSION, &[])?;
    env.push(("PATH", path_with_own_tools()));
    Ok(PageToolchain { env })
}

/// Makes sure that dependencies can be checked.
pub(crate) fn for_deny() -> Result<(), Failure> {
    cargo_tool("cargo-deny", CARGO_DENY_VERSION, &["--locked"])
}

/// Makes sure that the end-to-end tests find a browser, its driver and a real server. Where they cannot be installed
/// this is an error under `CI`, and elsewhere a note: the tests then skip visibly.
pub(crate) fn for_tests() -> Result<(), Failure> {
    let needed = [
        ("chromium", "chromium"),
        ("chromedriver", "chromium-driver"),
        ("caddy", "caddy"),
    ];
    let missing: Vec<_> = needed
        .iter()
        .filter(|(program, _)| find_program(program).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    if may_use_apt() {
        say(&format!("installing for the tests: {}", packages.join(" ")));
        if apt_install(&packages).is_ok() {
            return Ok(());
        }
    }
    let advice = format!(
        "On Debian: sudo apt-get install {}; elsewhere see the README.",
        packages.join(" ")
    );
    if env::var_os("CI").is_some() {
        return Err(Failure::Missing {
            what: programs.join(", "),
            advice,
        });
    }
    say(&format!(
        "missing, tests that need it will be skipped: {}. {advice}",
        programs.join(", ")
    ));
    Ok(())
}

/// The wasm target of the ordinary toolchain where it is there; else Debian's compiler, which builds the standard
/// library from source.
fn wasm_target() -> Result<Vec<(&'static str, OsString)>, Failure> {
    let target_libdir = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", "wasm32-unknown-unknown"])
        .output();
    if target_libdir.is_some_and(|folder| Path::new(&folder).is_dir()) {
        return Ok(Vec::new());
    }
    if !debian_has_web_compiler() && may_use_apt() {
        say("the toolchain has no wasm target: installing Debian's rustc-web, cargo-web and rust-web-src");
        apt_install(&["rustc-web", "cargo-web", "rust-web-src"])?;
    }
    let linker = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .map(|sysroot| {
            let host = host_triple().unwrap_or_else(|| "x86_64-unknown-linux-gnu".into());
            PathBuf::from(sysroot)
                .join("lib/rustlib")
                .join(host)
                .join("bin/rust-lld")
        });
    match linker.filter(|linker| linker.is_file() && debian_has_web_compiler()) {
        Some(linker) => Ok(vec![
            ("RUSTUP_TOOLCHAIN", "/usr".into()),
            ("RUSTC_BOOTSTRAP", "1".into()),
            ("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort".into()),
            ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker.into()),
        ]),
        None => Err(Failure::Missing {
            what: "the target wasm32-unknown-unknown".into(),
            advice: "Type: rustup target add wasm32-unknown-unknown".into(),
        }),
    }
}

fn debian_has_web_compiler() -> bool {
    Path::new("/usr/bin/rustc").is_file()
        && Path::new("/usr/bin/cargo").is_file()
        && Path::new("/usr/lib/rustlib/src/rust/library").is_dir()
}

fn host_triple() -> Option<String> {
    let version = Command::new("rustc").args(["-vV"]).output()?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
}

/// Installs a program from the registry unless this very version is in `PATH` or among the project's own tools.
fn cargo_tool(package: &str, version: &str, options: &[&str]) -> Result<(), Failure> {
    let program = package.strip_suffix("-cli").unwrap_or(package);
    let is_wanted = |file: &Path| {
        Command::new(file)
            .args(["--version"])
            .output()
            .is_some_and(|answer| answer.split_whitespace().any(|word| word == version))
    };
    let in_path = find_program(program);
    let own = own_tools().join("bin").join(crate::command::executable(program));
    if in_path.as_deref().is_some_and(is_wanted) || (own.is_file() && is_wanted(&own)) {
        return Ok(());
    }
    say(&format!(
        "installing {package} {version}, once; this takes a few minutes"
    ));
    let mut install = Command::new("cargo");
    install
        .args(["install", package, "--version", version])
        .args(options);
    if in_path.is_some() {
        // Another version is the user's own choice: leave it alone.
        install.args(["--root"]).args([own_tools()]);
    }
    // Half the time of the default profile, for tools that run for seconds.
    install
        .env("CARGO_TARGET_DIR", target_dir().join("tools"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .run()
        .map_err(|_| Failure::Missing {
            what: format!("{package} {version}"),
            advice: format!(
                "Type: cargo install {package} --version {version} {}",
                options.join(" ")
            ),
        })
}

fn own_tools() -> PathBuf {
    root().join(".tools")
}

fn path_with_own_tools() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [own_tools().join("bin")]
        .into_iter()
        .chain(env::split_paths(&path));
    env::join_paths(folders).unwrap_or(path)
}

fn may_use_apt() -> bool {
    let is_root = Command::new("id")
        .args(["-u"])
        .output()
        .is_some_and(|id| id == "0");
    is_root && find_program("apt-get").is_some()
}

fn apt_install(packages: &[&str]) -> Result<(), Failure> {
    Command::new("apt-get").args(["update", "--quiet"]).run()?;
    Command::new("apt-get")
        .args(["install", "--yes", "--quiet", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .run()
}
