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
    fn words<'b>(&'b self, words: &[&'b str]) -> Vec<&'b str> {
        let first = ["--address", self.address, "--namespace", "k8s.io"];
        [&first, words].concat()
    }

    fn run(&self, doing: &str, words: &[&str]) -> Result<String> {
        self.tool.run(doing, &self.words(words))
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

/// What a name stands for, if all of it is there: a pull that was cut off leaves
/// a name with some of its parts, or with none of them unpacked.
///
/// The columns are name, type, digest, status, count of parts, sizes, and
/// whether it is unpacked; an image without layers has one part, and nothing to
/// unpack.
fn whole<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = table.lines().map(str::split_whitespace);
    let mut words = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
    let digest = words.find(|word| word.starts_with("sha256:"))?;
    let complete = words.next() == Some("complete");
    let no_layers = words.next() == Some("(1/1)");
    let ready = complete && (no_layers || words.last() == Some("true"));
    ready.then_some(digest)
}

impl Store for Containerd<'_> {
    fn find(&self, names: &[&str]) -> Result<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        for name in names {
            let filter = format!("name=={name}");
            // A name whose list of parts is gone makes the answer an error, too.
            let ended = self.tool.ask(&self.words(&["images", "check", &filter]))?;
            if let Some(digest) = whole(&ended.output, name) {
                found.insert((*name).to_owned(), digest.to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_and_unpacked_counts() {
        let table = |rest: &str| format!("REF TYPE DIGEST STATUS\nr/a:1 t/x sha256:12 {rest}\n");
        let found = |rest: &str| whole(&table(rest), "r/a:1").is_some();
        assert!(found("complete (3/3) 1.0 MiB/1.0 MiB true"));
        assert!(!found("complete (3/3) 1.0 MiB/1.0 MiB false"));
        assert!(!found("incomplete (1/3) 1.0 KiB/1.0 MiB false"));
        assert!(!found("unavailable (0/?) 0.0 B/? false"));
        assert!(found("complete (1/1) 0.5 KiB/0.5 KiB false"), "no layers");
        assert_eq!(whole(&table("complete (3/3) 1 1 true"), "r/a"), None);
    }
}
