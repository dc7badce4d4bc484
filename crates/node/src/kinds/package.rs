//! `package`.

use casement_resource::{Diff, Package, PackageFacts, PackageState, Prior, Resource};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for Package {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let version = context.platform.package(&self.name)?;
        Ok(self.diff(&PackageFacts { version }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::Package(context.platform.package(&self.name)?))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        match &self.state {
            PackageState::Absent => context.platform.remove_package(&self.name),
            PackageState::Installed => context.platform.install_package(&self.name, None),
            PackageState::Version(version) => {
                context.platform.install_package(&self.name, Some(version))
            }
        }
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Package(before) = prior else {
            return Err(wrong_prior("a package", prior));
        };
        let now = context.platform.package(&self.name)?;
        match before {
            _ if now == *before => Ok(()),
            None => context.platform.remove_package(&self.name),
            Some(version) => context.platform.install_package(&self.name, Some(version)),
        }
    }
}
