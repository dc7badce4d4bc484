//! Images that Docker keeps.

use std::collections::BTreeMap;

use super::{Store, Tool, object, versions_in};
use crate::platform::Result;

pub(super) struct Docker<'a> {
    pub(super) tool: Tool<'a>,
}

impl Docker<'_> {
    /// What a name stands for.
    fn id(&self, name: &str) -> Result<Option<String>> {
        let form = ["image", "inspect", "--format", "{{json .}}", name];
        let ended = self.tool.ask(&form)?;
        if ended.code != Some(0) {
            return Ok(None);
        }
        let found = object("look at an image", &ended.output)?;
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
        let doing = format!("read what `{name}` is made for");
        let text = self.tool.run(&doing, &["manifest", "inspect", name])?;
        Ok(versions_in(&object(&doing, &text)?))
    }

    fn pull(&self, name: &str) -> Result<()> {
        let doing = format!("pull `{name}`");
        self.tool.run(&doing, &["pull", "--quiet", name]).map(drop)
    }

    fn build(&self, name: &str, folder: &str) -> Result<()> {
        let doing = format!("build `{name}`");
        let words = ["build", "--tag", name, folder];
        self.tool.run(&doing, &words).map(drop)
    }

    fn tag(&self, name: &str, tag: &str) -> Result<()> {
        let doing = format!("name `{name}` `{tag}`");
        self.tool.run(&doing, &["tag", name, tag]).map(drop)
    }

    fn try_out(&self, name: &str, command: &[String]) -> Result<()> {
        let doing = format!("try `{name}` out");
        let mut words = vec!["run", "--rm", name];
        words.extend(command.iter().map(String::as_str));
        self.tool.run(&doing, &words).map(drop)
    }

    fn forget(&self, names: &[&str]) -> Result<()> {
        for name in names {
            if self.id(name)?.is_some() {
                let doing = format!("remove `{name}`");
                self.tool.run(&doing, &["image", "rm", name])?;
            }
        }
        Ok(())
    }
}
