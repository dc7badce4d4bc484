//! `dynamicPorts`.

use casement_resource::{Diff, DynamicPorts, Prior, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for DynamicPorts {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(at.platform.dynamic_ports(self.protocol)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let found = at.platform.dynamic_ports(self.protocol)?;
        Ok(Prior::DynamicPorts(found))
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        at.platform.set_dynamic_ports(self)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::DynamicPorts(before) = *prior else {
            return Err(wrong_prior("a range of ports", prior));
        };
        at.platform.set_dynamic_ports(&DynamicPorts {
            protocol: self.protocol,
            first: before.first,
            count: before.count,
        })
    }
}
