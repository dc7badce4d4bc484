//! `windowsFeature`.

use casement_resource::{
    Code, Diff, Failure, Prior, Resource, WindowsFeature, WindowsFeatureFacts,
};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for WindowsFeature {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(at.platform.windows_feature(&self.name)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        match at.platform.windows_feature(&self.name)? {
            WindowsFeatureFacts::Unknown => Err(Failure::new(
                Code::Unsupported,
                format!("this Windows has no feature `{}`", self.name),
                "check the name with `dism /online /get-features`, and the edition of Windows",
            )),
            found => Ok(Prior::WindowsFeature(found.is_to_be_present())),
        }
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        at.platform.set_windows_feature(&self.name, self.present)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::WindowsFeature(present) = *prior else {
            return Err(wrong_prior("a feature of Windows", prior));
        };
        let found = at.platform.windows_feature(&self.name)?;
        if found.is_to_be_present() == present {
            return Ok(());
        }
        at.platform.set_windows_feature(&self.name, present)
    }
}
