//! `kernelModule`.

use casement_resource::{Diff, KernelModule, KernelModuleFacts, Prior, Resource};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for KernelModule {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&context.platform.kernel_module(&self.name)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let facts = context.platform.kernel_module(&self.name)?;
        Ok(Prior::KernelModule(facts != KernelModuleFacts::Absent))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        context.platform.load_kernel_module(&self.name)
    }

    /// A module that is in use by now stays loaded.
    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::KernelModule(loaded) = prior else {
            return Err(wrong_prior("a kernel module", prior));
        };
        match context.platform.kernel_module(&self.name)? {
            KernelModuleFacts::Loaded { users: 0 } if !loaded => {
                context.platform.unload_kernel_module(&self.name)
            }
            _ => Ok(()),
        }
    }
}
