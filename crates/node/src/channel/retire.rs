//! Deletes the service and the state folder once all casement resources are removed.
//! The controller deletes the executable of the agent.

use std::fs;
use std::io;

use casement_resource::{Code, Failure};

use super::ChannelServer;
use super::service_connection::ServiceConnection;
use crate::platform::Result;
use crate::state::records::Records;
use crate::state::{delete, state_failure};

pub(super) fn retire(channel: &ChannelServer<'_>, service: &mut ServiceConnection) -> Result<()> {
    let layout = channel.layout;
    let left = Records::load(layout)?.len();
    if left > 0 {
        return Err(Failure::new(
            Code::Protocol,
            "cannot uninstall the agent: casement resources remain on this host",
            "run `casement reset` first",
        )
        .values(
            "0 records",
            format!("{left} {}", if left == 1 { "record" } else { "records" }),
        ));
    }
    if let Some(run) = channel.unfinished()? {
        return Err(Failure::new(
            Code::Protocol,
            format!(
                "cannot uninstall the agent: run `{}` is not finished",
                run.run
            ),
            "wait until it is finished, or stop it",
        )
        .found(format!("started by {}", run.controller)));
    }
    service.close();
    channel.service_client.retire()?;
    for folder in ["blobs", "journal", "state"] {
        let path = layout.root().join(folder);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(state_failure("deleted", &path, &error));
            }
            _ => {}
        }
    }
    for file in [
        "lock",
        "lock.json",
        "pull.lock",
        "serve.lock",
        "casement.socket",
    ] {
        delete(&layout.root().join(file))?;
    }
    // Fails if the folder of the executable is inside, which the controller deletes.
    let _ = fs::remove_dir(layout.root());
    Ok(())
}
