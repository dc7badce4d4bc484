//! `kubeconfig`: a file with rendered content.

use casement_resource::{Diff, Kubeconfig, Prior, Resource};

use super::{Kind, KindContext};
use crate::platform::Result;

impl Kind for Kubeconfig {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        self.file().observe(context)
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        self.file().prior(context)
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        prior: &Prior,
        previous: Option<&Resource>,
    ) -> Result<()> {
        self.file().apply(context, prior, previous)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        self.file().undo(context, prior)
    }
}
