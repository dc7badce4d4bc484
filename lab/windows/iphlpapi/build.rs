//! Hands the linker the list of functions that are Wine's own.

use std::path::Path;
use std::{env, fs, io};

const LIST: &str = "forwards.def";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={LIST}");
    let windows = env::var_os("CARGO_CFG_WINDOWS").is_some();
    if let (true, Ok(folder)) = (windows, env::var("OUT_DIR")) {
        // A copy: cargo takes what this prints for good in another clone too,
        // which shares the build products but not the place of the source.
        let copy = Path::new(&folder).join(LIST);
        fs::copy(LIST, &copy)?;
        println!("cargo::rustc-cdylib-link-arg={}", copy.display());
    }
    Ok(())
}
