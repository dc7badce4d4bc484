//! Images of containerd, in the namespace of the kubelet.

use std::collections::BTreeMap;

use super::{Store, Tool, object, versions_in};
use crate::platform::Result;

pub(super) struct Containerd<'a> {
    pub(super) tool: Tool<'a>,
    pub(super) address: &'a str,
    pub(super) registries: &'a str,
}

impl Containerd<'_> {
    fn arguments<'b>(&'b self, arguments: &[&'b str]) -> Vec<&'b str> {
        let prefix = ["--address", self.address, "--namespace", "k8s.io"];
        [&prefix, arguments].concat()
    }

    fn run(&self, action: &str, arguments: &[&str]) -> Result<String> {
        self.tool.run(action, &self.arguments(arguments))
    }

    /// The digest of a name, even if its image is incomplete.
    fn digest(&self, name: &str) -> Result<Option<String>> {
        let filter = format!("name=={name}");
        let listed = self.run("list images", &["images", "list", &filter])?;
        let mut lines = listed.lines().map(str::split_whitespace);
        let line = lines.find_map(|mut columns| (columns.next() == Some(name)).then_some(columns));
        let digest = line.and_then(|mut columns| columns.find(|it| it.starts_with("sha256:")));
        Ok(digest.map(str::to_owned))
    }

    fn content(&self, digest: &str) -> Result<serde_json::Value> {
        let text = self.run("read a manifest", &["content", "get", digest])?;
        object("read a manifest", &text)
    }
}

/// The digest of a name if its image is complete: an interrupted pull leaves a name
/// with some of its blobs, or not unpacked.
///
/// The columns are name, type, digest, status, number of blobs, sizes, and whether
/// it is unpacked. An image without layers has one blob and nothing to unpack.
fn complete_digest<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = table.lines().map(str::split_whitespace);
    let mut columns =
        lines.find_map(|mut columns| (columns.next() == Some(name)).then_some(columns))?;
    let digest = columns.find(|it| it.starts_with("sha256:"))?;
    let complete = columns.next() == Some("complete");
    let no_layers = columns.next() == Some("(1/1)");
    let ready = complete && (no_layers || columns.last() == Some("true"));
    ready.then_some(digest)
}

impl Store for Containerd<'_> {
    fn find(&self, names: &[&str]) -> Result<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        for name in names {
            let filter = format!("name=={name}");
            // Also exits with an error if a manifest is missing.
            let exit = self
                .tool
                .run_unchecked(&self.arguments(&["images", "check", &filter]))?;
            if let Some(digest) = complete_digest(&exit.output, name) {
                found.insert((*name).to_owned(), digest.to_owned());
            }
        }
        Ok(found)
    }

    fn versions(&self, name: &str) -> Result<Vec<String>> {
        let action = format!("read the supported versions of `{name}`");
        let fetch = ["content", "fetch", "--metadata-only"];
        let from = ["--hosts-dir", self.registries, name];
        self.run(&action, &[fetch, from].concat())?;
        let Some(digest) = self.digest(name)? else {
            return Ok(Vec::new());
        };
        let manifest = self.content(&digest)?;
        let versions = versions_in(&manifest);
        if !versions.is_empty() {
            return Ok(versions);
        }
        // A single-platform image: the version is in its configuration.
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
        let action = format!("pull `{name}`");
        let arguments = ["images", "pull", "--hosts-dir", self.registries, name];
        self.run(&action, &arguments).map(drop)
    }

    fn build(&self, name: &str, folder: &str) -> Result<()> {
        Err(casement_resource::Failure::new(
            casement_resource::Code::Unsupported,
            format!(
                "cannot build the image `{name}` from `{folder}`: containerd does not build images"
            ),
            "use an image from a registry",
        ))
    }

    fn tag(&self, name: &str, tag: &str) -> Result<()> {
        let action = format!("tag `{name}` as `{tag}`");
        self.run(&action, &["images", "tag", "--force", name, tag])
            .map(drop)
    }

    fn test_run(&self, name: &str, command: &[String]) -> Result<()> {
        const CONTAINER: &str = "casement-try-out";
        // A killed run may have left the container.
        let _ = self.run("remove", &["tasks", "delete", "--force", CONTAINER]);
        let _ = self.run("remove", &["containers", "delete", CONTAINER]);
        let action = format!("test `{name}`");
        let mut arguments = vec!["run", "--rm", name, CONTAINER];
        arguments.extend(command.iter().map(String::as_str));
        self.run(&action, &arguments).map(drop)
    }

    fn remove(&self, names: &[&str]) -> Result<()> {
        for name in names {
            if self.digest(name)?.is_some() {
                let action = format!("remove `{name}`");
                self.run(&action, &["images", "remove", "--sync", name])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_unpacked_images_are_found() {
        let table = |rest: &str| format!("REF TYPE DIGEST STATUS\nr/a:1 t/x sha256:12 {rest}\n");
        let found = |rest: &str| complete_digest(&table(rest), "r/a:1").is_some();
        assert!(found("complete (3/3) 1.0 MiB/1.0 MiB true"));
        assert!(!found("complete (3/3) 1.0 MiB/1.0 MiB false"));
        assert!(!found("incomplete (1/3) 1.0 KiB/1.0 MiB false"));
        assert!(!found("unavailable (0/?) 0.0 B/? false"));
        assert!(found("complete (1/1) 0.5 KiB/0.5 KiB false"), "no layers");
        assert_eq!(
            complete_digest(&table("complete (3/3) 1 1 true"), "r/a"),
            None
        );
    }
}
