//! Searches for leaked secrets, and proves that the search finds planted ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The search's name for command output.
const OUTPUT: &str = "command output";
/// The search's name for the arguments of processes.
const ARGUMENTS: &str = "arguments";

/// What was visible from outside while commands ran.
#[derive(Default)]
pub struct Captured {
    pub printed: String,
    /// Arguments of all processes of the machine.
    pub arguments: BTreeSet<String>,
}

/// Each leaked secret and its locations.
pub type Found = BTreeMap<String, BTreeSet<String>>;

/// Searches a folder including its archives, and the in-memory contents of simulated
/// hosts as pairs of name and text.
pub struct SecretSearch<'a> {
    pub folder: PathBuf,
    /// Prefix of paths in the folder that are not searched.
    pub excluded: Option<&'static str>,
    pub memory: Box<dyn Fn() -> Vec<(String, String)> + 'a>,
}

impl SecretSearch<'_> {
    pub fn find(&self, secrets: &[&str], seen: &Captured) -> Found {
        let mut found = Found::new();
        for (path, secret) in matches(&self.folder, secrets) {
            if !self.excluded.is_some_and(|prefix| path.starts_with(prefix)) {
                found.entry(secret).or_default().insert(path);
            }
        }
        let mut texts = (self.memory)();
        texts.extend(archive_members(&self.folder));
        texts.push((OUTPUT.to_owned(), seen.printed.clone()));
        let arguments = seen.arguments.iter();
        texts.extend(arguments.map(|line| (ARGUMENTS.to_owned(), line.clone())));
        for (name, text) in texts {
            for secret in secrets.iter().filter(|secret| text.contains(**secret)) {
                let locations = found.entry((*secret).to_owned()).or_default();
                locations.insert(name.clone());
            }
        }
        found
    }

    /// Plants each secret in each target, in the arguments of a process and in command
    /// output: the search finds them all, and none after they are removed.
    pub fn assert_finds_planted(&self, secrets: &[&str], targets: &[SearchTarget<'_>]) {
        let before = self.find(secrets, &Captured::default());
        let planted = format!("\n{}\n", secrets.join("\n"));
        for target in targets {
            (target.put)(&planted);
        }
        let found = self.find(secrets, &capture_printer(secrets));
        for target in targets {
            (target.clear)();
        }
        let none = BTreeSet::new();
        for secret in secrets {
            let (before, found) = (before.get(*secret), found.get(*secret));
            let (before, found) = (before.unwrap_or(&none), found.unwrap_or(&none));
            let names = targets.iter().map(|target| target.name.as_str());
            for name in names.chain([OUTPUT, ARGUMENTS]) {
                let is_found = |found: &BTreeSet<String>| found.iter().any(|it| it.ends_with(name));
                assert!(
                    !is_found(before),
                    "{secret} is already in {name}: {before:?}"
                );
                assert!(
                    is_found(found),
                    "{secret} is not found in {name}: {found:?}"
                );
            }
        }
        let after = self.find(secrets, &Captured::default());
        assert_eq!(after, before, "planted secrets were not removed");
    }
}

/// A location where secrets are planted; `name` is the end of the name that the search
/// reports.
pub struct SearchTarget<'a> {
    pub name: String,
    pub put: Box<dyn Fn(&str) + 'a>,
    pub clear: Box<dyn Fn() + 'a>,
}

impl SearchTarget<'_> {
    /// Appends to an existing file.
    pub fn file(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        let original = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (at, end) = (path.clone(), original.clone());
        let put = move |text: &str| fs::write(&at, [&end, text.as_bytes()].concat()).unwrap();
        Self {
            name: name.to_owned(),
            put: Box::new(put),
            clear: Box::new(move || fs::write(&path, &original).unwrap()),
        }
    }

    /// Adds a member to an existing archive.
    pub fn archive(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        let original = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (at, packed) = (path.clone(), original.clone());
        Self {
            name: format!("{name}: planted"),
            put: Box::new(move |text| fs::write(&at, with_planted_member(&packed, text)).unwrap()),
            clear: Box::new(move || fs::write(&path, &original).unwrap()),
        }
    }
}

fn with_planted_member(archive: &[u8], text: &str) -> Vec<u8> {
    let packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut more = tar::Builder::new(packer);
    let mut add = |name: &str, text: &str| {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        more.append_data(&mut header, name, text.as_bytes())
            .unwrap();
    };
    for (name, text) in members(archive) {
        add(&name, &text);
    }
    add("planted", text);
    more.into_inner().unwrap().finish().unwrap()
}

/// Captures a process that prints the secrets in its arguments.
fn capture_printer(secrets: &[&str]) -> Captured {
    let arguments = ProcessArguments::watch();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "echo \"$@\"; read line", "sh"])
        .args(secrets);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    let shell = shell.spawn().unwrap();
    arguments.wait_for_scan();
    // Closing its stdin ends it.
    let output = shell.wait_with_output().unwrap();
    Captured {
        printed: String::from_utf8_lossy(&output.stdout).into_owned(),
        arguments: arguments.stop(),
    }
}

/// The members of all archives in a folder.
fn archive_members(folder: &Path) -> Vec<(String, String)> {
    let mut archives = grep(folder);
    archives.args(["--files-with-matches", "--include=*.tar.gz", "--", "", "."]);
    let text = String::from_utf8(archives.output().unwrap().stdout).unwrap();
    let inside = text.lines().flat_map(|path| {
        let path = path.trim_start_matches("./").to_owned();
        let bytes = fs::read(folder.join(&path)).unwrap();
        let texts = members(&bytes).into_iter();
        texts.map(move |(name, text)| (format!("{path}: {name}"), text))
    });
    inside.collect()
}

fn members(archive: &[u8]) -> Vec<(String, String)> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let name = entry.path().unwrap().display().to_string();
        (name, String::from_utf8_lossy(&bytes).into_owned())
    });
    entries.collect()
}

/// The relative paths of files that contain a text.
pub fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let found = matches(folder, &[text]).into_iter();
    found.map(|(path, _)| path).collect()
}

/// Relative paths and the texts found in them.
fn matches(folder: &Path, texts: &[&str]) -> BTreeSet<(String, String)> {
    let mut find = grep(folder);
    find.args(["--only-matching", "--with-filename", "--null"]);
    for text in texts {
        find.args(["-e", text]);
    }
    let output = find.arg(".").output().unwrap();
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = found.lines().filter_map(|line| line.split_once('\0'));
    let found = found.map(|(path, text)| (path.trim_start_matches("./"), text));
    found
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect()
}

/// A recursive `grep` for fixed strings, also in binary files.
fn grep(folder: &Path) -> Command {
    let mut grep = Command::new("grep");
    grep.args(["--recursive", "--fixed-strings", "--text"]);
    grep.args(["--devices=skip", "--directories=recurse"]);
    grep.current_dir(folder);
    grep
}

/// Collects the arguments of all processes of the machine.
pub struct ProcessArguments {
    stopped: Arc<AtomicBool>,
    /// Completed scans of all processes.
    scans: Arc<AtomicUsize>,
    seen: JoinHandle<BTreeSet<String>>,
}

impl ProcessArguments {
    pub fn watch() -> Self {
        let (stopped, scans) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (stop, completed) = (Arc::clone(&stopped), Arc::clone(&scans));
        let seen = thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while !stop.load(Ordering::SeqCst) {
                for entry in fs::read_dir("/proc").unwrap().flatten() {
                    let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    seen.insert(String::from_utf8_lossy(&line).into_owned());
                }
                completed.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(20));
            }
            seen
        });
        Self {
            stopped,
            scans,
            seen,
        }
    }

    /// Waits until all processes that run now have been scanned.
    fn wait_for_scan(&self) {
        // The current scan may be half done.
        let enough = self.scans.load(Ordering::SeqCst) + 2;
        while self.scans.load(Ordering::SeqCst) < enough {
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn stop(self) -> BTreeSet<String> {
        self.stopped.store(true, Ordering::SeqCst);
        self.seen.join().unwrap()
    }
}
