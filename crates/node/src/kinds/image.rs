//! `image`: pulled or built, checked against the host's build first, named, and
//! tried out.
//!
//! containerd and Docker are spoken to through the programs that come with
//! them: what they print for machines is the same in every release that is
//! covered, and an agent that spoke gRPC itself would be twice its size.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::{
    Code, ConditionFacts, Diff, Failure, Image, ImageFacts, ImageSource, ImageStore, Prior,
    Resource, WindowsVersion,
};

use super::{Kind, Place, bad_path, wrong_prior};
use crate::platform::{Ended, Program, Result};

mod containerd;
mod docker;

/// What keeps images.
trait Store {
    /// Which of the names are there and whole, each with what it stands for.
    fn find(&self, names: &[&str]) -> Result<BTreeMap<String, String>>;
    /// The versions of Windows that an image in its registry is made for;
    /// nothing but a list is brought for that.
    fn versions(&self, name: &str) -> Result<Vec<String>>;
    /// Brings an image from its registry, ready to be used.
    fn pull(&self, name: &str) -> Result<()>;
    /// Makes an image of what is in a folder.
    fn build(&self, name: &str, folder: &str) -> Result<()>;
    /// Gives an image another name.
    fn tag(&self, name: &str, tag: &str) -> Result<()>;
    /// Runs a command in an image, and leaves nothing of it.
    fn try_out(&self, name: &str, command: &[String]) -> Result<()>;
    /// Takes names away; absent is fine.
    fn forget(&self, names: &[&str]) -> Result<()>;
}

impl Kind for Image {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&ImageFacts {
            names: find(self, at)?,
        }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        self.extend(at, &Prior::Image(BTreeMap::new()))
    }

    fn extend(&self, at: &Place<'_>, earlier: &Prior) -> Result<Prior> {
        let Prior::Image(earlier) = earlier else {
            return Err(wrong_prior("an image", earlier));
        };
        let (mut names, found) = (earlier.clone(), find(self, at)?);
        for name in self.names() {
            let known = names.contains_key(name);
            if !known {
                names.insert(name.clone(), found.contains_key(name));
            }
        }
        Ok(Prior::Image(names))
    }

    fn change(&self, at: &Place<'_>, prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let store = store(self, at);
        let found = find(self, at)?;
        refuse_foreign(self, &found, prior)?;
        if !found.contains_key(&self.name) {
            match &self.source {
                ImageSource::Registry => {
                    if self.check_build {
                        check_build(self, at, &*store)?;
                    }
                    store.pull(&self.name)?;
                }
                ImageSource::Folder(folder) => store.build(&self.name, folder.as_str())?,
            }
            if !self.try_out.is_empty()
                && let Err(failure) = store.try_out(&self.name, &self.try_out)
            {
                // One that was not seen to run is not called there.
                let _ = store.forget(&[&self.name]);
                return Err(failure);
            }
        }
        for tag in &self.tags {
            store.tag(&self.name, tag)?;
        }
        Ok(())
    }

    /// Where nobody answers any more, the images go with the folder that they
    /// lie in.
    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Image(names) = prior else {
            return Err(wrong_prior("an image", prior));
        };
        if !answers(self, at)? {
            return Ok(());
        }
        let ours = names.iter().filter(|(_, was_there)| !**was_there);
        let ours: Vec<&str> = ours.map(|(name, _)| name.as_str()).collect();
        store(self, at).forget(&ours)
    }
}

/// A name that stood for somebody else's image stays theirs: what it stood for
/// could not be put back.
fn refuse_foreign(image: &Image, found: &BTreeMap<String, String>, prior: &Prior) -> Result<()> {
    let Prior::Image(names) = prior else {
        return Err(wrong_prior("an image", prior));
    };
    let own = found.get(&image.name);
    for tag in &image.tags {
        let (was_there, now) = (names.get(tag), found.get(tag));
        if was_there == Some(&true) && now.is_some() && now != own {
            return Err(Failure::new(
                Code::Foreign,
                format!("the name `{tag}` stands for another image"),
                "take that name away from it, or leave it out of the file",
            )
            .values(own.unwrap_or(&image.name), now.map_or("", String::as_str)));
        }
    }
    Ok(())
}

/// Whether an image is made for the host's build; asked before it is pulled.
fn check_build(image: &Image, at: &Place<'_>, store: &dyn Store) -> Result<()> {
    let host = at.platform.facts()?.version;
    // A Linux host has no build that counts.
    let Some(version) = WindowsVersion::read(&host).filter(|it| it.release.0 == 10) else {
        return Ok(());
    };
    let versions = store.versions(&image.name)?;
    let mut read = versions
        .iter()
        .filter_map(|text| WindowsVersion::read(text));
    if versions.is_empty() || read.any(|image| version.carries(image)) {
        return Ok(());
    }
    // Only its list is there.
    let _ = store.forget(&[&image.name]);
    Err(Failure::new(
        Code::Needed,
        format!("the image `{}` is not made for this Windows", image.name),
        "name a tag that is made for the host's build; `images.verify: none` pulls it anyway",
    )
    .values(format!("made for {host}"), versions.join(", ")))
}

fn store<'a>(image: &'a Image, at: &'a Place<'a>) -> Box<dyn Store + 'a> {
    let tool = Tool { image, at };
    match &image.store {
        ImageStore::Containerd {
            address,
            registries,
            ..
        } => Box::new(containerd::Containerd {
            tool,
            address,
            registries: registries.as_str(),
        }),
        ImageStore::Docker { .. } => Box::new(docker::Docker { tool }),
    }
}

/// Whether there is somebody to ask.
fn answers(image: &Image, at: &Place<'_>) -> Result<bool> {
    let ready = at.platform.condition(image.store.ready())? == ConditionFacts::Holds;
    Ok(ready && at.platform.entry(image.store.program())?.is_some())
}

fn find(image: &Image, at: &Place<'_>) -> Result<BTreeMap<String, String>> {
    if !answers(image, at)? {
        return Ok(BTreeMap::new());
    }
    let names: Vec<&str> = image.names().map(String::as_str).collect();
    store(image, at).find(&names)
}

/// The program that speaks to whoever keeps the images.
struct Tool<'a> {
    image: &'a Image,
    at: &'a Place<'a>,
}

impl Tool<'_> {
    /// Runs it to its end, however that is.
    fn ask(&self, words: &[&str]) -> Result<Ended> {
        let program = self.image.store.program();
        let folder = match program.parent() {
            Some(folder) => folder,
            None => program.as_str().parse().map_err(bad_path)?,
        };
        let words = words.iter().map(|word| (*word).to_owned());
        let arguments = std::iter::once(program.as_str().to_owned()).chain(words);
        let deadline = Duration::from_secs(u64::from(self.image.timeout_seconds));
        self.at.platform.run(&Program {
            arguments: arguments.collect(),
            environment: BTreeMap::from([
                // Before it was in every release, `docker manifest` asked for it.
                ("DOCKER_CLI_EXPERIMENTAL".to_owned(), "enabled".to_owned()),
            ]),
            folder,
            deadline,
        })
    }

    /// The same, and it must end well.
    fn run(&self, doing: &str, words: &[&str]) -> Result<String> {
        let ended = self.ask(words)?;
        let how = match ended.code {
            Some(0) => return Ok(ended.output),
            Some(code) => format!("ended with code {code}"),
            None => format!("was ended by force after {} s", self.image.timeout_seconds),
        };
        let program = self.image.store.program();
        Err(Failure::new(
            Code::ProgramFailed,
            format!("{doing}: `{program}` {how}"),
            "its last lines say why; mend that and apply again",
        )
        .found(last_lines(&ended.output)))
    }
}

fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|it| !it.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(3)..);
    last.unwrap_or_default().join("\n")
}

/// The first JSON object in what a program wrote to both of its streams.
fn object(doing: &str, output: &str) -> Result<serde_json::Value> {
    let begins = output.find('{').unwrap_or(0);
    let text = output.get(begins..).unwrap_or_default();
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        _ => Err(Failure::new(
            Code::ProgramFailed,
            format!("{doing}: the answer is no JSON"),
            "run it by hand on the host to see what it says",
        )
        .found(last_lines(output))),
    }
}

/// The versions in a list of images for several systems.
fn versions_in(list: &serde_json::Value) -> Vec<String> {
    let manifests = list.get("manifests").and_then(|it| it.as_array());
    let platforms = manifests.into_iter().flatten();
    let mut versions: Vec<String> = platforms
        .filter_map(|it| it.pointer("/platform/os.version")?.as_str())
        .map(str::to_owned)
        .collect();
    versions.sort();
    versions.dedup();
    versions
}
