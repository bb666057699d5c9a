//! Keeps the section that wasm-bindgen reads, which stripping symbols would remove with the names.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").unwrap_or_default();
    if target.starts_with("wasm32") {
        println!("cargo::rustc-link-arg-bins=--keep-section=target_features");
    }
}
