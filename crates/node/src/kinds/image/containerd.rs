//! Images that containerd keeps, in the namespace that the kubelet sees.

use std::collections::BTreeMap;

use super::{Store, Tool, object, versions_in};
use crate::platform::Result;

pub(super) struct Containerd<'a> {
    pub(super) tool: Tool<'a>,
    pub(super) address: &'a str,
    pub(super) registries: &'a str,
}

impl Containerd<'_> {
    fn run(&self, doing: &str, words: &[&str]) -> Result<String> {
        let first = ["--address", self.address, "--namespace", "k8s.io"];
        self.tool.run(doing, &[&first, words].concat())
    }

    /// What a name stands for, whole or not.
    fn digest(&self, name: &str) -> Result<Option<String>> {
        let filter = format!("name=={name}");
        let listed = self.run("list images", &["images", "list", &filter])?;
        let mut lines = listed.lines().map(str::split_whitespace);
        let line = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words));
        let digest = line.and_then(|mut words| words.find(|word| word.starts_with("sha256:")));
        Ok(digest.map(str::to_owned))
    }

    fn content(&self, digest: &str) -> Result<serde_json::Value> {
        let text = self.run("read a manifest", &["content", "get", digest])?;
        object("read a manifest", &text)
    }
}

impl Store for Containerd<'_> {
    fn find(&self, names: &[&str]) -> Result<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        for name in names {
            // A pull that was cut off leaves a name behind, and no image.
            let filter = format!("name=={name}");
            let words = ["images", "check", "--quiet", &filter];
            let whole = self.run("check an image", &words)?;
            if !whole.lines().any(|line| line.trim() == *name) {
                continue;
            }
            if let Some(digest) = self.digest(name)? {
                found.insert((*name).to_owned(), digest);
            }
        }
        Ok(found)
    }

    fn versions(&self, name: &str) -> Result<Vec<String>> {
        let doing = format!("read what `{name}` is made for");
        let fetch = ["content", "fetch", "--metadata-only"];
        let from = ["--hosts-dir", self.registries, name];
        self.run(&doing, &[fetch, from].concat())?;
        let Some(digest) = self.digest(name)? else {
            return Ok(Vec::new());
        };
        let manifest = self.content(&digest)?;
        let versions = versions_in(&manifest);
        if !versions.is_empty() {
            return Ok(versions);
        }
        // An image for one system: what it is for is in its configuration.
        let Some(digest) = manifest
            .pointer("/config/digest")
            .and_then(|it| it.as_str())
        else {
            return Ok(Vec::new());
        };
        let configuration = self.content(digest)?;
        let version = configuration.get("os.version").and_then(|it| it.as_str());
        Ok(version.into_iter().map(str::to_owned).collect())
    }

    fn pull(&self, name: &str) -> Result<()> {
        let doing = format!("pull `{name}`");
        let words = ["images", "pull", "--hosts-dir", self.registries, name];
        self.run(&doing, &words).map(drop)
    }

    fn build(&self, name: &str, folder: &str) -> Result<()> {
        Err(casement_resource::Failure::new(
            casement_resource::Code::Unsupported,
            format!("the image `{name}` cannot be built in `{folder}`: containerd builds none"),
            "name an image in a registry",
        ))
    }

    fn tag(&self, name: &str, tag: &str) -> Result<()> {
        let doing = format!("name `{name}` `{tag}`");
        self.run(&doing, &["images", "tag", "--force", name, tag])
            .map(drop)
    }

    fn try_out(&self, name: &str, command: &[String]) -> Result<()> {
        const CONTAINER: &str = "casement-try-out";
        // What a kill has left.
        let _ = self.run("remove", &["tasks", "delete", "--force", CONTAINER]);
        let _ = self.run("remove", &["containers", "delete", CONTAINER]);
        let doing = format!("try `{name}` out");
        let mut words = vec!["run", "--rm", name, CONTAINER];
        words.extend(command.iter().map(String::as_str));
        self.run(&doing, &words).map(drop)
    }

    fn forget(&self, names: &[&str]) -> Result<()> {
        for name in names {
            if self.digest(name)?.is_some() {
                let doing = format!("remove `{name}`");
                self.run(&doing, &["images", "remove", "--sync", name])?;
            }
        }
        Ok(())
    }
}
