//! `dynamicPorts`.

use casement_resource::{Diff, DynamicPorts, Prior, Resource};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for DynamicPorts {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(context.platform.dynamic_ports(self.protocol)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let found = context.platform.dynamic_ports(self.protocol)?;
        Ok(Prior::DynamicPorts(found))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        context.platform.set_dynamic_ports(self)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::DynamicPorts(before) = *prior else {
            return Err(wrong_prior("a range of ports", prior));
        };
        context.platform.set_dynamic_ports(&DynamicPorts {
            protocol: self.protocol,
            first: before.first,
            count: before.count,
        })
    }
}
