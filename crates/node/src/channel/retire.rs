//! Retiring: when nothing of casement's is left to take back, the service and
//! the state folder go too. The agent's own file is the controller's to delete.

use std::fs;
use std::io;

use casement_resource::{Code, Failure};

use super::Channel;
use super::link::Link;
use crate::platform::Result;
use crate::state::records::Records;
use crate::state::{delete, state_failure};

pub(super) fn retire(channel: &Channel<'_>, link: &mut Link) -> Result<()> {
    let layout = channel.layout;
    let left = Records::load(layout)?.len();
    if left > 0 {
        return Err(Failure::new(
            Code::Protocol,
            "casement cannot leave this host: there is something to take back",
            "remove everything first (`casement reset`)",
        )
        .values("0 records", format!("{left} records")));
    }
    if let Some(run) = channel.unfinished()? {
        return Err(Failure::new(
            Code::Protocol,
            format!(
                "casement cannot leave this host: run `{}` is not finished",
                run.run
            ),
            "let it finish, or stop it",
        )
        .found(format!("begun by {}", run.controller)));
    }
    link.close();
    channel.backstage.retire()?;
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
    // The agent's own folder may be in it; then it stays until that goes.
    let _ = fs::remove_dir(layout.root());
    Ok(())
}
