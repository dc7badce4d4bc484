//! Takes a host back: what casement made there, the agent, the Node.

use casement_resource::RunId;
use casement_resource::wire::Event;

use crate::api::Api;
use crate::error::RunError;
use crate::host::Host;
use crate::turn::in_turn;

/// Takes one host back. The Node goes last: as long as it is there, somebody
/// sees that the host is not done.
///
/// Each part finds nothing to do when it was done before, so a reset that was
/// cut off is simply asked for again.
pub async fn take_back<H: Host, A: Api>(
    mut host: H,
    api: &A,
    run: &RunId,
    is_node: bool,
    tell: &(dyn Fn(&Event) + Sync),
    waiting: &(dyn Fn(String) + Sync),
) -> Result<(), RunError> {
    let name = host.name().to_owned();
    in_turn(waiting, async || host.remove(run, tell).await).await?;
    host.leave().await?;
    if is_node {
        api.forget(&name).await?;
    }
    Ok(())
}
