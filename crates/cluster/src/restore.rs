//! Restores the prior values of fields that casement changed.

use serde_json::Value;

use crate::change::{ChangeMethod, ClusterChange, ObjectRef};
use crate::client::ClusterClient;
use crate::error::ClusterError;

#[derive(Debug, Clone, PartialEq)]
pub struct RestoredField {
    pub object: ObjectRef,
    /// The field, as a JSON pointer.
    pub field: String,
    pub outcome: RestoreOutcome,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RestoreOutcome {
    Restored,
    /// The field had its prior value already.
    Already,
    /// The object no longer exists.
    Gone,
    /// Someone else has changed the field since: their value is kept.
    Kept {
        /// The value that casement set.
        ours: Option<Value>,
        found: Option<Value>,
    },
}

impl ClusterClient {
    /// What [`Self::restore`] would change, for `plan`.
    pub async fn plan_restore(&self) -> Result<Vec<ClusterChange>, ClusterError> {
        let mut changes = Vec::new();
        for entry in self.saved_fields().await? {
            let live = self.get(&entry.object).await?;
            let found = live.and_then(|live| live.pointer(&entry.field).cloned());
            if found == entry.after && found != entry.before {
                changes.push(ClusterChange {
                    object: entry.object,
                    field: entry.field,
                    before: entry.after,
                    after: entry.before,
                    method: ChangeMethod::Patch,
                    outage: entry.outage,
                });
            }
        }
        Ok(changes)
    }

    /// Restores every saved value where casement's value is still set. The state
    /// ConfigMap is deleted with the last entry, or after the flannel restart that is
    /// still pending.
    pub async fn restore(&self) -> Result<Vec<RestoredField>, ClusterError> {
        let mut outcomes = Vec::new();
        for entry in self.saved_fields().await? {
            let change = ClusterChange {
                object: entry.object,
                field: entry.field,
                before: entry.after,
                after: entry.before,
                method: ChangeMethod::Patch,
                outage: entry.outage,
            };
            let how = self.restore_field(&change).await?;
            self.forget_prior(&change.object, &change.field).await?;
            outcomes.push(RestoredField {
                object: change.object,
                field: change.field,
                outcome: how,
            });
        }
        self.delete_empty_state().await?;
        Ok(outcomes)
    }

    async fn restore_field(&self, change: &ClusterChange) -> Result<RestoreOutcome, ClusterError> {
        let Some(live) = self.get(&change.object).await? else {
            return Ok(RestoreOutcome::Gone);
        };
        let mut found = live.pointer(&change.field).cloned();
        if found == change.after {
            return Ok(RestoreOutcome::Already);
        }
        if found == change.before {
            if change.outage.is_some() {
                self.set_restart_pending(true).await?;
            }
            if self.send_patch(change, &live).await? {
                return Ok(RestoreOutcome::Restored);
            }
            let live = self.get(&change.object).await?;
            found = live.and_then(|live| live.pointer(&change.field).cloned());
        }
        Ok(RestoreOutcome::Kept {
            ours: change.before.clone(),
            found,
        })
    }
}
