//! Hands the linker the list of functions that are Wine's own.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=forwards.def");
    let windows = env::var_os("CARGO_CFG_WINDOWS").is_some();
    if let (true, Ok(folder)) = (windows, env::var("CARGO_MANIFEST_DIR")) {
        println!("cargo::rustc-cdylib-link-arg={folder}/forwards.def");
    }
}
