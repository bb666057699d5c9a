//! Builds the backend anew when the page that is embedded in it has changed.

fn main() {
    // Cargo can only watch a folder that exists; an empty one embeds no page.
    if let Err(error) = std::fs::create_dir_all("../dist") {
        println!("cargo::warning=the folder dist cannot be made: {error}");
    }
    println!("cargo::rerun-if-changed=../dist");
}
