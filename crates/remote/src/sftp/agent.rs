//! Copies and removes the agent's executable.

use casement_resource::Sha256;

use super::{Sftp, TransferProgress};
use crate::agent::{Agent, Delivery};
use crate::error::RemoteError;
use crate::paths::RemotePath;

impl Sftp {
    /// Copies the agent to `path` unless it is there. A file with the same size is read
    /// back, and replaced if its hash differs.
    pub(crate) async fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        progress: impl FnMut(TransferProgress),
    ) -> Result<Delivery, RemoteError> {
        if let Some(found) = self.stat(path).await? {
            let is_same =
                found.size == agent.size && Sha256::of(&self.read(path).await?) == agent.hash;
            if is_same {
                return Ok(Delivery::Reused);
            }
            self.remove(path).await?;
        }
        if let Some(dir) = path.parent() {
            self.create_dirs(&dir).await?;
        }
        let sent = self.put_blob(&agent.path, &agent.hash, path, progress);
        Ok(Delivery::Sent(sent.await?))
    }

    /// Removes the agent and the parent directories that are empty then.
    pub(crate) async fn remove_agent(&self, path: &RemotePath) -> Result<(), RemoteError> {
        self.remove(path).await?;
        let mut dir = path.parent();
        // agent/<hash>, agent, casement.
        for _ in 0..3 {
            let Some(path) = dir else { break };
            if !self.remove_empty_dir(&path).await? {
                break;
            }
            dir = path.parent();
        }
        Ok(())
    }
}
