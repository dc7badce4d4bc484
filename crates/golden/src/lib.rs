//! Golden files: expected outputs that a reviewer reads as files.
//!
//! A test adds every text that it has, then asserts them all at once. All differences are
//! reported together, and a golden file that no text belongs to is an error, so that none
//! outlives its test. `BLESS=1` writes the files instead, and deletes those without a text.
//!
//! ```no_run
//! let mut goldens = casement_golden::Goldens::in_folder("tests/golden/render");
//! goldens.add("bootstrap.txt", "the rendered files");
//! goldens.assert();
//! ```

#![allow(clippy::panic, reason = "tests fail by panicking")]

mod diff;

pub use diff::diff;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io, thread};

/// More files are only named.
const SHOWN_FILES: usize = 5;

/// The golden files of one test.
#[must_use = "nothing is compared before `assert`"]
#[derive(Debug)]
pub struct Goldens {
    folder: PathBuf,
    owned: Owned,
    /// Folders below that belong to other tests.
    excluded: Vec<PathBuf>,
    texts: BTreeMap<PathBuf, String>,
}

/// Which files of the folder are golden files of this test.
#[derive(Debug)]
enum Owned {
    All,
    /// Files with these names, in any folder below.
    Named(BTreeSet<&'static str>),
    /// Only files that a text was added for: the folder belongs to others.
    Added,
}

impl Goldens {
    /// Every file below this folder is a golden file of this test. A relative path starts at
    /// the package under test.
    pub fn in_folder(folder: impl AsRef<Path>) -> Self {
        Self::new(folder.as_ref(), Owned::All)
    }

    /// Every file below this folder with one of these names is a golden file of this test; the
    /// others are its input.
    pub fn named(folder: impl AsRef<Path>, names: impl IntoIterator<Item = &'static str>) -> Self {
        let names = names.into_iter().collect();
        Self::new(folder.as_ref(), Owned::Named(names))
    }

    fn new(folder: &Path, owned: Owned) -> Self {
        // Cargo runs tests in the folder of their package, but a debugger may not.
        let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        Self {
            folder: Path::new(&package).join(folder),
            owned,
            excluded: Vec::new(),
            texts: BTreeMap::new(),
        }
    }

    /// A folder below, relative to this one, belongs to another test.
    pub fn exclude(&mut self, folder: impl AsRef<Path>) {
        self.excluded.push(folder.as_ref().to_owned());
    }

    /// `file` is relative to the folder.
    pub fn add(&mut self, file: impl AsRef<Path>, text: impl Into<String>) {
        let file = file.as_ref();
        let before = self.texts.insert(file.to_owned(), text.into());
        assert!(before.is_none(), "{} was added twice", file.display());
    }

    /// Compares all texts with their files, or writes the files with `BLESS=1`.
    #[track_caller]
    pub fn assert(self) {
        let bless = env::var_os("BLESS").is_some_and(|value| !value.is_empty() && value != "0");
        let result = if bless { self.write() } else { self.compare() };
        if let Err(report) = result {
            panic!("{report}");
        }
    }

    fn compare(&self) -> Result<(), String> {
        let mut wrong = Vec::new();
        for (file, actual) in &self.texts {
            let path = self.folder.join(file);
            let name = path.display();
            match fs::read(&path) {
                Ok(bytes) => {
                    let expected = String::from_utf8_lossy(&bytes);
                    if expected != actual.as_str() {
                        wrong.push(format!(
                            "{name} differs:\n{}",
                            diff::diff(&expected, actual)
                        ));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let shown = diff::diff("", actual);
                    wrong.push(format!("{name} does not exist; its text is:\n{shown}"));
                }
                Err(error) => wrong.push(format!("failed to read {name}: {error}")),
            }
        }
        for file in self.unused() {
            wrong.push(format!("{} belongs to no test\n", file.display()));
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(report(&wrong)),
        }
    }

    fn write(&self) -> Result<(), String> {
        let failed = |path: &Path, error| format!("failed to write {}: {error}", path.display());
        for (file, text) in &self.texts {
            let path = self.folder.join(file);
            let folder = path.parent().unwrap_or(&self.folder);
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
            written.map_err(|error| failed(&path, error))?;
        }
        for path in self.unused() {
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }

    fn unused(&self) -> Vec<PathBuf> {
        let owned = |path: &Path| match &self.owned {
            Owned::All => true,
            Owned::Named(names) => names.iter().any(|name| path.ends_with(name)),
            Owned::Added => false,
        };
        let mut files = Vec::new();
        collect(&self.folder, &mut files);
        files.retain(|path| {
            let file = path.strip_prefix(&self.folder).unwrap_or(path);
            let excluded = self.excluded.iter().any(|folder| file.starts_with(folder));
            owned(path) && !excluded && !self.texts.contains_key(file)
        });
        files.sort();
        files
    }
}

/// Compares one file, whose folder belongs to others: a generated page of the documentation,
/// for example.
#[track_caller]
pub fn assert_file(path: impl AsRef<Path>, text: impl Into<String>) {
    let mut goldens = Goldens::new(Path::new(""), Owned::Added);
    goldens.add(path, text);
    goldens.assert();
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    // A folder that does not exist yet has no files.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn report(wrong: &[String]) -> String {
    let mut text = String::new();
    for one in wrong.iter().take(SHOWN_FILES) {
        let _ = writeln!(text, "{one}");
    }
    for one in wrong.iter().skip(SHOWN_FILES) {
        let _ = writeln!(text, "{}", one.lines().next().unwrap_or_default());
    }
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let current = thread::current();
    let test = current.name().unwrap_or_default();
    let _ = write!(
        text,
        "`-` is the file, `+` is the output. If the output is right, run `BLESS=1 cargo test -p \
         {package} -- --include-ignored {test}` and review what it wrote"
    );
    text
}

#[cfg(test)]
mod tests;
