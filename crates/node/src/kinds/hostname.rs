//! `hostname`.

use casement_resource::{Code, Diff, Failure, Hostname, HostnameFacts, Prior, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for Hostname {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let found = at.platform.hostname()?;
        let diff = self.diff(&found);
        if !diff.is_right() {
            refuse_member(&found, &self.name)?;
        }
        Ok(diff)
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Hostname(at.platform.hostname()?.name))
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        rename(at, &self.name)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Hostname(before) = prior else {
            return Err(wrong_prior("the host's name", prior));
        };
        rename(at, before)
    }
}

fn rename(at: &Place<'_>, name: &str) -> Result<()> {
    let found = at.platform.hostname()?;
    if found.name == name {
        return Ok(());
    }
    refuse_member(&found, name)?;
    at.platform.set_hostname(name)
}

/// A domain knows its members by name, and only an account of the domain may
/// rename one: done here, the host would lose its place in it.
fn refuse_member(found: &HostnameFacts, wanted: &str) -> Result<()> {
    let Some(domain) = &found.domain else {
        return Ok(());
    };
    Err(Failure::new(
        Code::Foreign,
        format!(
            "`{}` is a member of the domain `{domain}`; casement does not rename it",
            found.name
        ),
        "rename it with an account of the domain, or write its present name into the file",
    )
    .values(wanted, &found.name))
}
