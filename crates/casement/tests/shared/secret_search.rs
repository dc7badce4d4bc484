//! The search for secrets where they must not be, and the proof that it finds them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What the search calls what was printed.
const SAID: &str = "what it said";
/// What it calls the arguments of processes.
const ARGUMENTS: &str = "arguments";

/// What could be seen from outside while commands ran.
#[derive(Default)]
pub struct Seen {
    pub said: String,
    /// Arguments of all processes of the machine.
    pub arguments: BTreeSet<String>,
}

/// Each secret that was found, and where.
pub type Found = BTreeMap<String, BTreeSet<String>>;

/// Where to look: below a folder, in what is packed there too, and in what simulated
/// hosts hold in memory, each text by a name.
pub struct Search<'a> {
    pub folder: PathBuf,
    /// The beginning of paths below it that are not looked at.
    pub besides: Option<&'static str>,
    pub memory: Box<dyn Fn() -> Vec<(String, String)> + 'a>,
}

impl Search<'_> {
    pub fn find(&self, secrets: &[&str], seen: &Seen) -> Found {
        let mut found = Found::new();
        for (path, secret) in matches(&self.folder, secrets) {
            if !self
                .besides
                .is_some_and(|left_out| path.starts_with(left_out))
            {
                found.entry(secret).or_default().insert(path);
            }
        }
        let mut texts = (self.memory)();
        texts.extend(packed(&self.folder));
        texts.push((SAID.to_owned(), seen.said.clone()));
        let arguments = seen.arguments.iter();
        texts.extend(arguments.map(|line| (ARGUMENTS.to_owned(), line.clone())));
        for (name, text) in texts {
            for secret in secrets.iter().filter(|secret| text.contains(**secret)) {
                let places = found.entry((*secret).to_owned()).or_default();
                places.insert(name.clone());
            }
        }
        found
    }

    /// Plants each secret in each place, among the arguments of a process and in what
    /// is printed: the search names them all, and none when they are gone again.
    pub fn finds_what_is_planted(&self, secrets: &[&str], places: &[Place<'_>]) {
        let before = self.find(secrets, &Seen::default());
        let planted = format!("\n{}\n", secrets.join("\n"));
        for place in places {
            (place.put)(&planted);
        }
        let found = self.find(secrets, &printed(secrets));
        for place in places {
            (place.clear)();
        }
        let none = BTreeSet::new();
        for secret in secrets {
            let (before, found) = (before.get(*secret), found.get(*secret));
            let (before, found) = (before.unwrap_or(&none), found.unwrap_or(&none));
            let names = places.iter().map(|place| place.name.as_str());
            for name in names.chain([SAID, ARGUMENTS]) {
                let named = |found: &BTreeSet<String>| found.iter().any(|it| it.ends_with(name));
                assert!(!named(before), "{secret} was in {name} already: {before:?}");
                assert!(named(found), "{secret} in {name}: {found:?}");
            }
        }
        let after = self.find(secrets, &Seen::default());
        assert_eq!(after, before, "and it is clean again");
    }
}

/// A place for a secret: the end of the name that the search has for it, how a text
/// comes there, and how it goes.
pub struct Place<'a> {
    pub name: String,
    pub put: Box<dyn Fn(&str) + 'a>,
    pub clear: Box<dyn Fn() + 'a>,
}

impl Place<'_> {
    /// The end of a file that is there.
    pub fn file(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        let own = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (at, end) = (path.clone(), own.clone());
        let put = move |text: &str| fs::write(&at, [&end, text.as_bytes()].concat()).unwrap();
        Self {
            name: name.to_owned(),
            put: Box::new(put),
            clear: Box::new(move || fs::write(&path, &own).unwrap()),
        }
    }

    /// One more file in an archive that is there.
    pub fn archive(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        let own = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (at, packed) = (path.clone(), own.clone());
        Self {
            name: format!("{name}: planted"),
            put: Box::new(move |text| fs::write(&at, with_one_more(&packed, text)).unwrap()),
            clear: Box::new(move || fs::write(&path, &own).unwrap()),
        }
    }
}

fn with_one_more(archive: &[u8], text: &str) -> Vec<u8> {
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

/// What is seen of somebody who prints secrets that were given as arguments.
fn printed(secrets: &[&str]) -> Seen {
    let arguments = Arguments::watch();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "echo \"$@\"; read line", "sh"])
        .args(secrets);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    let shell = shell.spawn().unwrap();
    arguments.look();
    // It ends when nobody can write to it any more.
    let output = shell.wait_with_output().unwrap();
    Seen {
        said: String::from_utf8_lossy(&output.stdout).into_owned(),
        arguments: arguments.end(),
    }
}

/// The texts in all archives below a folder.
fn packed(folder: &Path) -> Vec<(String, String)> {
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

/// Files below a folder that hold a text, by their path in it.
pub fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let found = matches(folder, &[text]).into_iter();
    found.map(|(path, _)| path).collect()
}

/// Paths below a folder, and the texts that are in them.
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

/// `grep` that looks at all files below a folder as they are.
fn grep(folder: &Path) -> Command {
    let mut grep = Command::new("grep");
    grep.args(["--recursive", "--fixed-strings", "--text"]);
    grep.args(["--devices=skip", "--directories=recurse"]);
    grep.current_dir(folder);
    grep
}

/// The arguments of all processes of the machine, as long as they are watched.
pub struct Arguments {
    over: Arc<AtomicBool>,
    /// How often all were looked at.
    looks: Arc<AtomicUsize>,
    seen: JoinHandle<BTreeSet<String>>,
}

impl Arguments {
    pub fn watch() -> Self {
        let (over, looks) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (ends, looked) = (Arc::clone(&over), Arc::clone(&looks));
        let seen = thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while !ends.load(Ordering::SeqCst) {
                for entry in fs::read_dir("/proc").unwrap().flatten() {
                    let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    seen.insert(String::from_utf8_lossy(&line).into_owned());
                }
                looked.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(20));
            }
            seen
        });
        Self { over, looks, seen }
    }

    /// Waits until all that run now were looked at.
    fn look(&self) {
        // One look may be half over.
        let enough = self.looks.load(Ordering::SeqCst) + 2;
        while self.looks.load(Ordering::SeqCst) < enough {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// All that were seen.
    pub fn end(self) -> BTreeSet<String> {
        self.over.store(true, Ordering::SeqCst);
        self.seen.join().unwrap()
    }
}
