//! Passes the list of functions that are forwarded to Wine to the linker.

use std::path::Path;
use std::{env, fs, io};

const LIST: &str = "forwards.def";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={LIST}");
    let windows = env::var_os("CARGO_CFG_WINDOWS").is_some();
    if let (true, Ok(out_dir)) = (windows, env::var("OUT_DIR")) {
        // A copy, because cargo reuses this output for another clone that shares
        // the target directory but has its sources elsewhere.
        let copy = Path::new(&out_dir).join(LIST);
        fs::copy(LIST, &copy)?;
        println!("cargo::rustc-cdylib-link-arg={}", copy.display());
    }
    Ok(())
}
