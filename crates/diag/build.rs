//! Lists the pages in `docs/codes` as entries for `src/codes.rs`, so that a new page needs no
//! line of code.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

const PAGES: &str = "../../docs/codes";

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo compares the directory and all files in it.
    println!("cargo::rerun-if-changed={PAGES}");
    let mut entries = String::from("[\n");
    for code in codes()? {
        let path = format!("{PAGES}/{code}.md");
        let title = title(&code, &fs::read_to_string(&path)?)?;
        writeln!(
            entries,
            "Entry {{ code: {code:?}, title: {title:?}, \
             page: include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?})) }},",
            format!("/{path}")
        )?;
    }
    entries += "]\n";
    fs::write(Path::new(&env::var("OUT_DIR")?).join("codes.rs"), entries)?;
    Ok(())
}

fn codes() -> Result<Vec<String>, Box<dyn Error>> {
    let mut codes = Vec::new();
    for file in fs::read_dir(PAGES)? {
        let name = file?.file_name();
        let code = name.to_str().and_then(|name| name.strip_suffix(".md"));
        codes.extend(
            code.filter(|code| code.starts_with("CAS-"))
                .map(str::to_owned),
        );
    }
    codes.sort();
    Ok(codes)
}

/// From the first line: `# CODE: title`.
fn title(code: &str, page: &str) -> Result<String, String> {
    let heading = page.lines().next().unwrap_or_default();
    let title = heading.strip_prefix(&format!("# {code}: "));
    let title = title.filter(|title| !title.trim().is_empty());
    title
        .map(str::to_owned)
        .ok_or_else(|| format!("docs/codes/{code}.md: the first line is not `# {code}: title`"))
}
