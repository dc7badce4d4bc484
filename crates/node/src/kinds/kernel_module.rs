//! `kernelModule`.

use casement_resource::{Diff, KernelModule, KernelModuleFacts, Prior, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for KernelModule {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&at.platform.kernel_module(&self.name)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let facts = at.platform.kernel_module(&self.name)?;
        Ok(Prior::KernelModule(facts != KernelModuleFacts::Absent))
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        at.platform.load_kernel_module(&self.name)
    }

    /// What others have come to use stays loaded: they are not casement's.
    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::KernelModule(loaded) = prior else {
            return Err(wrong_prior("a kernel module", prior));
        };
        match at.platform.kernel_module(&self.name)? {
            KernelModuleFacts::Loaded { users: 0 } if !loaded => {
                at.platform.unload_kernel_module(&self.name)
            }
            _ => Ok(()),
        }
    }
}
