//! Takes a host back: what casement made there, the agent, the Node.

use casement_resource::RunId;
use casement_resource::wire::Event;

use crate::api::Api;
use crate::error::RunError;
use crate::host::Host;
use crate::turn::in_turn;

/// What becomes of the pods of a host that is a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drain {
    /// They are moved before anything else.
    First,
    /// They are left to their controllers.
    Not,
}

/// Takes one host back: `node` says what becomes of its pods, and is none for a host
/// that is no node of casement's making. The Node goes last: as long as it is there, somebody
/// sees that the host is not done.
///
/// Each part finds nothing to do when it was done before, so a reset that was
/// cut off is simply asked for again.
pub async fn take_back<H: Host, A: Api>(
    mut host: H,
    api: &A,
    run: &RunId,
    node: Option<Drain>,
    tell: &(dyn Fn(&Event) + Sync),
    waiting: &(dyn Fn(String) + Sync),
) -> Result<(), RunError> {
    let name = host.name().to_owned();
    if node == Some(Drain::First) {
        api.drain(&name, waiting).await?;
    }
    in_turn(waiting, async || host.remove(run, tell).await).await?;
    host.leave().await?;
    if node.is_some() {
        api.forget(&name).await?;
    }
    Ok(())
}
