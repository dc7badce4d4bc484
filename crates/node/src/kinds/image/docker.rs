//! Images of Docker.

use std::collections::BTreeMap;

use super::{Store, Tool, object, versions_in};
use crate::platform::Result;

pub(super) struct Docker<'a> {
    pub(super) tool: Tool<'a>,
}

impl Docker<'_> {
    fn id(&self, name: &str) -> Result<Option<String>> {
        let arguments = ["image", "inspect", "--format", "{{json .}}", name];
        let exit = self.tool.run_unchecked(&arguments)?;
        if exit.code != Some(0) {
            return Ok(None);
        }
        let found = object("inspect an image", &exit.output)?;
        Ok(found
            .get("Id")
            .and_then(|id| id.as_str())
            .map(str::to_owned))
    }
}

impl Store for Docker<'_> {
    fn find(&self, names: &[&str]) -> Result<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        for name in names {
            if let Some(id) = self.id(name)? {
                found.insert((*name).to_owned(), id);
            }
        }
        Ok(found)
    }

    fn versions(&self, name: &str) -> Result<Vec<String>> {
        let action = format!("read the supported versions of `{name}`");
        let text = self.tool.run(&action, &["manifest", "inspect", name])?;
        Ok(versions_in(&object(&action, &text)?))
    }

    fn pull(&self, name: &str) -> Result<()> {
        let action = format!("pull `{name}`");
        self.tool.run(&action, &["pull", "--quiet", name]).map(drop)
    }

    fn build(&self, name: &str, folder: &str) -> Result<()> {
        let action = format!("build `{name}`");
        let arguments = ["build", "--tag", name, folder];
        self.tool.run(&action, &arguments).map(drop)
    }

    fn tag(&self, name: &str, tag: &str) -> Result<()> {
        let action = format!("tag `{name}` as `{tag}`");
        self.tool.run(&action, &["tag", name, tag]).map(drop)
    }

    fn test_run(&self, name: &str, command: &[String]) -> Result<()> {
        let action = format!("test `{name}`");
        let mut arguments = vec!["run", "--rm", name];
        arguments.extend(command.iter().map(String::as_str));
        self.tool.run(&action, &arguments).map(drop)
    }

    fn remove(&self, names: &[&str]) -> Result<()> {
        for name in names {
            if self.id(name)?.is_some() {
                let action = format!("remove `{name}`");
                self.tool.run(&action, &["image", "rm", name])?;
            }
        }
        Ok(())
    }
}
