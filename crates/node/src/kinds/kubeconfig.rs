//! `kubeconfig`: a file with a content of its own.

use casement_resource::{Diff, Kubeconfig, Prior, Resource};

use super::{Kind, Place};
use crate::platform::Result;

impl Kind for Kubeconfig {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        self.file().look(at)
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        self.file().prior(at)
    }

    fn change(&self, at: &Place<'_>, prior: &Prior, earlier: Option<&Resource>) -> Result<()> {
        self.file().change(at, prior, earlier)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        self.file().undo(at, prior)
    }
}
