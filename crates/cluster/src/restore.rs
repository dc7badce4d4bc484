//! Gives the cluster's own objects back what they held before casement.

use serde_json::Value;

use crate::change::{ClusterChange, ObjectRef, Way};
use crate::connect::Cluster;
use crate::error::ClusterError;

/// What became of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Restored {
    /// The object.
    pub object: ObjectRef,
    /// The field, as a JSON pointer.
    pub field: String,
    /// What it holds now.
    pub how: RestoredHow,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RestoredHow {
    /// It holds again what it held before.
    Restored,
    /// It did already.
    Already,
    /// The object is gone.
    Gone,
    /// Somebody else has changed it since: their value stays.
    Kept {
        /// What casement had put there.
        ours: Option<Value>,
        /// What is there.
        found: Option<Value>,
    },
}

impl Cluster {
    /// What [`Cluster::restore`] would change, for `plan`.
    pub async fn plan_restore(&self) -> Result<Vec<ClusterChange>, ClusterError> {
        let mut changes = Vec::new();
        for entry in self.remembered().await? {
            let live = self.get(&entry.object).await?;
            let found = live.and_then(|live| live.pointer(&entry.field).cloned());
            if found == entry.after && found != entry.before {
                changes.push(ClusterChange {
                    object: entry.object,
                    field: entry.field,
                    before: entry.after,
                    after: entry.before,
                    way: Way::Patch,
                    outage: entry.outage,
                });
            }
        }
        Ok(changes)
    }

    /// Puts every remembered value back where casement's own is still there, and
    /// forgets it. The ConfigMap goes with the last one, or with the restart of
    /// flannel that is due then.
    pub async fn restore(&self) -> Result<Vec<Restored>, ClusterError> {
        let mut outcomes = Vec::new();
        for entry in self.remembered().await? {
            let change = ClusterChange {
                object: entry.object,
                field: entry.field,
                before: entry.after,
                after: entry.before,
                way: Way::Patch,
                outage: entry.outage,
            };
            let how = self.restore_field(&change).await?;
            self.forget(&change.object, &change.field).await?;
            outcomes.push(Restored {
                object: change.object,
                field: change.field,
                how,
            });
        }
        self.drop_state().await?;
        Ok(outcomes)
    }

    /// Whether flannel has to start anew with what it is set to now.
    pub async fn is_restart_due(&self) -> Result<bool, ClusterError> {
        self.is_restart_pending().await
    }

    async fn restore_field(&self, change: &ClusterChange) -> Result<RestoredHow, ClusterError> {
        let Some(live) = self.get(&change.object).await? else {
            return Ok(RestoredHow::Gone);
        };
        let mut found = live.pointer(&change.field).cloned();
        if found == change.after {
            return Ok(RestoredHow::Already);
        }
        if found == change.before {
            if change.outage.is_some() {
                self.note_restart(true).await?;
            }
            if self.send_patch(change, &live).await? {
                return Ok(RestoredHow::Restored);
            }
            let live = self.get(&change.object).await?;
            found = live.and_then(|live| live.pointer(&change.field).cloned());
        }
        Ok(RestoredHow::Kept {
            ours: change.before.clone(),
            found,
        })
    }
}
