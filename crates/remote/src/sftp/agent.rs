//! The agent's executable, brought and taken away by SFTP.

use casement_resource::Sha256;

use super::{Progress, Sftp};
use crate::agent::{Agent, Delivery};
use crate::error::RemoteError;
use crate::places::RemotePath;

impl Sftp {
    /// Makes sure that the agent is at `path`. One that is there with the right
    /// size is read back and, if it differs, replaced.
    pub(crate) async fn deliver(
        &self,
        agent: &Agent,
        path: &RemotePath,
        progress: impl FnMut(Progress),
    ) -> Result<Delivery, RemoteError> {
        if let Some(found) = self.stat(path).await? {
            let right =
                found.size == agent.size && Sha256::of(&self.read(path).await?) == agent.hash;
            if right {
                return Ok(Delivery::Reused);
            }
            self.remove(path).await?;
        }
        if let Some(folder) = path.parent() {
            self.make_folders(&folder).await?;
        }
        let sent = self.put_blob(&agent.path, &agent.hash, path, progress);
        Ok(Delivery::Sent(sent.await?))
    }

    /// Takes the agent away, and the folders above it that are empty then.
    pub(crate) async fn take_away(&self, path: &RemotePath) -> Result<(), RemoteError> {
        self.remove(path).await?;
        let mut folder = path.parent();
        // agent/<hash>, agent, casement.
        for _ in 0..3 {
            let Some(path) = folder else { break };
            if !self.remove_empty(&path).await? {
                break;
            }
            folder = path.parent();
        }
        Ok(())
    }
}
