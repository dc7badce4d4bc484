//! `image`: checked against the Windows build of the host, pulled or built, tagged
//! and test-run.
//!
//! containerd and Docker are used through their own command-line clients: their
//! machine-readable output is the same in every supported release, and gRPC would
//! double the size of the agent.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::{
    Code, ConditionFacts, Diff, Failure, Image, ImageFacts, ImageSource, ImageStore, Prior,
    Resource, WindowsVersion,
};

use super::{Kind, KindContext, invalid_path, wrong_prior};
use crate::platform::{Program, ProgramExit, Result};

mod containerd;
mod docker;

trait Store {
    /// The digest or id of each name whose image is complete.
    fn find(&self, names: &[&str]) -> Result<BTreeMap<String, String>>;
    /// The Windows versions that an image in its registry supports; only its
    /// manifests are downloaded.
    fn versions(&self, name: &str) -> Result<Vec<String>>;
    /// Pulls and unpacks an image.
    fn pull(&self, name: &str) -> Result<()>;
    /// Builds an image from a folder.
    fn build(&self, name: &str, folder: &str) -> Result<()>;
    fn tag(&self, name: &str, tag: &str) -> Result<()>;
    /// Runs a command in a container of the image and removes the container.
    fn test_run(&self, name: &str, command: &[String]) -> Result<()>;
    /// Absent names are not an error.
    fn remove(&self, names: &[&str]) -> Result<()>;
}

impl Kind for Image {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&ImageFacts {
            names: find(self, context)?,
        }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        self.extend(context, &Prior::Image(BTreeMap::new()))
    }

    fn extend(&self, context: &KindContext<'_>, previous: &Prior) -> Result<Prior> {
        let Prior::Image(previous) = previous else {
            return Err(wrong_prior("an image", previous));
        };
        let (mut names, found) = (previous.clone(), find(self, context)?);
        for name in self.names() {
            let known = names.contains_key(name);
            if !known {
                names.insert(name.clone(), found.contains_key(name));
            }
        }
        Ok(Prior::Image(names))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let store = store(self, context);
        let found = find(self, context)?;
        reject_foreign_tags(self, &found, prior)?;
        if !found.contains_key(&self.name) {
            match &self.source {
                ImageSource::Registry => {
                    if self.check_build {
                        check_build(self, context, &*store)?;
                    }
                    store.pull(&self.name)?;
                }
                ImageSource::Folder(folder) => store.build(&self.name, folder.as_str())?,
            }
            if !self.try_out.is_empty()
                && let Err(failure) = store.test_run(&self.name, &self.try_out)
            {
                // An image that does not run does not count as present.
                let _ = store.remove(&[&self.name]);
                return Err(failure);
            }
        }
        for tag in &self.tags {
            store.tag(&self.name, tag)?;
        }
        Ok(())
    }

    /// If the runtime is gone, the images are deleted with its folder.
    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Image(names) = prior else {
            return Err(wrong_prior("an image", prior));
        };
        if !is_ready(self, context)? {
            return Ok(());
        }
        let ours = names.iter().filter(|(_, existed)| !**existed);
        let ours: Vec<&str> = ours.map(|(name, _)| name.as_str()).collect();
        store(self, context).remove(&ours)
    }
}

/// A tag of a foreign image is not moved: it could not be restored.
fn reject_foreign_tags(
    image: &Image,
    found: &BTreeMap<String, String>,
    prior: &Prior,
) -> Result<()> {
    let Prior::Image(names) = prior else {
        return Err(wrong_prior("an image", prior));
    };
    let own = found.get(&image.name);
    for tag in &image.tags {
        let (existed, now) = (names.get(tag), found.get(tag));
        if existed == Some(&true) && now.is_some() && now != own {
            return Err(Failure::new(
                Code::Foreign,
                format!("the tag `{tag}` belongs to another image"),
                "remove that tag from the image, or from the cluster file",
            )
            .values(own.unwrap_or(&image.name), now.map_or("", String::as_str)));
        }
    }
    Ok(())
}

/// Whether an image supports the build of the host; checked before the pull.
fn check_build(image: &Image, context: &KindContext<'_>, store: &dyn Store) -> Result<()> {
    let host = context.platform.facts()?.version;
    // Does not apply to Linux hosts.
    let Some(version) = WindowsVersion::read(&host).filter(|it| it.release.0 == 10) else {
        return Ok(());
    };
    let versions = store.versions(&image.name)?;
    let mut read = versions
        .iter()
        .filter_map(|text| WindowsVersion::read(text));
    if versions.is_empty() || read.any(|image| version.can_run(image)) {
        return Ok(());
    }
    // Only its manifests were fetched.
    let _ = store.remove(&[&image.name]);
    Err(Failure::new(
        Code::ActionRequired,
        format!(
            "the image `{}` does not support this Windows build",
            image.name
        ),
        "use a tag for the build of the host, or set `images.verify: none` to pull it anyway",
    )
    .values(format!("an image for {host}"), versions.join(", ")))
}

fn store<'a>(image: &'a Image, context: &'a KindContext<'a>) -> Box<dyn Store + 'a> {
    let tool = Tool { image, context };
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

/// Whether the runtime and its client are available.
fn is_ready(image: &Image, context: &KindContext<'_>) -> Result<bool> {
    let ready = context.platform.condition(image.store.ready())? == ConditionFacts::Holds;
    Ok(ready && context.platform.entry(image.store.program())?.is_some())
}

fn find(image: &Image, context: &KindContext<'_>) -> Result<BTreeMap<String, String>> {
    if !is_ready(image, context)? {
        return Ok(BTreeMap::new());
    }
    let names: Vec<&str> = image.names().map(String::as_str).collect();
    store(image, context).find(&names)
}

/// The command-line client of the runtime.
struct Tool<'a> {
    image: &'a Image,
    context: &'a KindContext<'a>,
}

impl Tool<'_> {
    /// Returns whatever the exit code is.
    fn run_unchecked(&self, arguments: &[&str]) -> Result<ProgramExit> {
        let program = self.image.store.program();
        let folder = match program.parent() {
            Some(folder) => folder,
            None => program.as_str().parse().map_err(invalid_path)?,
        };
        let arguments = arguments.iter().map(|it| (*it).to_owned());
        let arguments = std::iter::once(program.as_str().to_owned()).chain(arguments);
        let deadline = Duration::from_secs(u64::from(self.image.timeout_seconds));
        self.context.platform.run(&Program {
            arguments: arguments.collect(),
            environment: BTreeMap::from([
                // Old releases need it for `docker manifest`.
                ("DOCKER_CLI_EXPERIMENTAL".to_owned(), "enabled".to_owned()),
            ]),
            working_dir: folder,
            timeout: deadline,
        })
    }

    /// Fails unless the exit code is 0.
    fn run(&self, action: &str, arguments: &[&str]) -> Result<String> {
        let exit = self.run_unchecked(arguments)?;
        let how = match exit.code {
            Some(0) => return Ok(exit.output),
            Some(code) => format!("failed with exit code {code}"),
            None => format!("timed out after {} s", self.image.timeout_seconds),
        };
        let program = self.image.store.program();
        Err(Failure::new(
            Code::ProgramFailed,
            format!("failed to {action}: `{program}` {how}"),
            "fix the error in its output, then run `casement apply` again",
        )
        .found(last_lines(&exit.output)))
    }
}

fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|it| !it.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(3)..);
    last.unwrap_or_default().join("\n")
}

/// The first JSON object in the combined stdout and stderr of a program.
fn object(action: &str, output: &str) -> Result<serde_json::Value> {
    let start = output.find('{').unwrap_or(0);
    let text = output.get(start..).unwrap_or_default();
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        _ => Err(Failure::new(
            Code::ProgramFailed,
            format!("failed to {action}: the output is not JSON"),
            "run it on the host to see its output",
        )
        .found(last_lines(output))),
    }
}

/// The versions in a multi-platform image index.
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
