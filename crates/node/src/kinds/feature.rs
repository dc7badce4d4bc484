//! `windowsFeature`.

use casement_resource::{
    Code, Diff, Failure, Prior, Resource, WindowsFeature, WindowsFeatureFacts,
};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for WindowsFeature {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(context.platform.windows_feature(&self.name)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        match context.platform.windows_feature(&self.name)? {
            WindowsFeatureFacts::Unknown => Err(Failure::new(
                Code::Unsupported,
                format!("Windows feature `{}` not found", self.name),
                "check the name with `dism /online /get-features`, and the edition of Windows",
            )),
            found => Ok(Prior::WindowsFeature(found.is_present_after_boot())),
        }
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        context
            .platform
            .set_windows_feature(&self.name, self.present)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::WindowsFeature(present) = *prior else {
            return Err(wrong_prior("a Windows feature", prior));
        };
        let found = context.platform.windows_feature(&self.name)?;
        if found.is_present_after_boot() == present {
            return Ok(());
        }
        context.platform.set_windows_feature(&self.name, present)
    }
}
