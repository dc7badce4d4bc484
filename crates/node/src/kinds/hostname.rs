//! `hostname`.

use casement_resource::{Code, Diff, Failure, Hostname, HostnameFacts, Prior, Resource};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for Hostname {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let found = context.platform.hostname()?;
        let diff = self.diff(&found);
        if !diff.in_sync() {
            reject_domain_member(&found, &self.name)?;
        }
        Ok(diff)
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::Hostname(context.platform.hostname()?.name))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        rename(context, &self.name)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Hostname(before) = prior else {
            return Err(wrong_prior("the host name", prior));
        };
        rename(context, before)
    }
}

fn rename(context: &KindContext<'_>, name: &str) -> Result<()> {
    let found = context.platform.hostname()?;
    if found.name == name {
        return Ok(());
    }
    reject_domain_member(&found, name)?;
    context.platform.set_hostname(name)
}

/// Only a domain account may rename a member of a domain: renamed locally, the host
/// would lose its membership.
fn reject_domain_member(found: &HostnameFacts, wanted: &str) -> Result<()> {
    let Some(domain) = &found.domain else {
        return Ok(());
    };
    Err(Failure::new(
        Code::Foreign,
        format!(
            "`{}` is a member of the domain `{domain}`: casement does not rename it",
            found.name
        ),
        "rename it with a domain account, or use its current name in the cluster file",
    )
    .values(wanted, &found.name))
}
