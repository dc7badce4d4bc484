//! `package`.

use casement_resource::{Diff, Package, PackageFacts, PackageState, Prior, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for Package {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let version = at.platform.package(&self.name)?;
        Ok(self.diff(&PackageFacts { version }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Package(at.platform.package(&self.name)?))
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        match &self.state {
            PackageState::Absent => at.platform.remove_package(&self.name),
            PackageState::Installed => at.platform.install_package(&self.name, None),
            PackageState::Version(version) => {
                at.platform.install_package(&self.name, Some(version))
            }
        }
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Package(before) = prior else {
            return Err(wrong_prior("a package", prior));
        };
        let now = at.platform.package(&self.name)?;
        match before {
            _ if now == *before => Ok(()),
            None => at.platform.remove_package(&self.name),
            Some(version) => at.platform.install_package(&self.name, Some(version)),
        }
    }
}
