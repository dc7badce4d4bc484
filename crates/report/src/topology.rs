//! The topology as SVG: hosts, their operating systems, and the pod network.

use casement_spec::{Cluster, Host};
use maud::{Markup, html};

use crate::run::Run;

const BOX_WIDTH: usize = 210;
const BOX_HEIGHT: usize = 102;
const GAP: usize = 26;
const COLUMNS: usize = 4;
const TOP: usize = 92;

/// The border and the status line of a host show the result of the run.
pub fn topology(cluster: &Cluster, run: &Run) -> Markup {
    let hosts = &cluster.spec.hosts;
    let columns = hosts.len().clamp(1, COLUMNS);
    let rows = hosts.len().div_ceil(COLUMNS).max(1);
    let width = columns * (BOX_WIDTH + GAP) + GAP;
    let height = TOP + rows * (BOX_HEIGHT + GAP);
    let center = width / 2;
    html! {
        svg.topology viewBox={ "0 0 " (width) " " (height) } role="img" aria-label="Hosts and pod network" {
            @for (index, _) in hosts.iter().enumerate() {
                @let (x, y) = corner(index);
                line.wire x1=(center) y1="58" x2=(x + BOX_WIDTH / 2) y2=(y) {}
            }
            rect.network x=(center.saturating_sub(200)) y="10" width="400" height="48" rx="8" {}
            text.center x=(center) y="30" { (cluster.metadata.name) ", Kubernetes " (cluster.spec.kubernetes.version) }
            text.center.small x=(center) y="48" { (network_title(cluster)) }
            @for (index, host) in hosts.iter().enumerate() {
                (host_box(host, corner(index), run))
            }
        }
    }
}

fn corner(index: usize) -> (usize, usize) {
    let x = GAP + index % COLUMNS * (BOX_WIDTH + GAP);
    let y = TOP + index / COLUMNS * (BOX_HEIGHT + GAP);
    (x, y)
}

fn network_title(cluster: &Cluster) -> String {
    let network = &cluster.spec.network;
    let mode = network.mode();
    match network.backend.vxlan() {
        Some(vxlan) => format!(
            "{mode}: VXLAN {} over UDP {} between the hosts",
            vxlan.vni.get(),
            vxlan.port
        ),
        None => format!("{mode}: routes between the hosts"),
    }
}

fn host_box(host: &Host, (x, y): (usize, usize), run: &Run) -> Markup {
    let result = run.hosts.iter().find(|it| it.name == host.name.as_str());
    let (class, status) = match result {
        None => ("", "not in this run"),
        Some(host) if host.error.is_some() => ("failed", "✗ failed"),
        Some(host) if host.changed == 0 => ("ok", "✓ in sync"),
        Some(_) => ("ok", "✓ changed"),
    };
    let pods = result.and_then(|host| host.pods.as_deref());
    html! {
        rect class={ "host " (class) } x=(x) y=(y) width=(BOX_WIDTH) height=(BOX_HEIGHT) rx="6" {}
        text.name x=(x + 12) y=(y + 22) { (host.name) }
        text.small x=(x + 12) y=(y + 40) { (host.os) }
        text.small x=(x + 12) y=(y + 56) { (host.address) }
        @if let Some(pods) = pods {
            text.small x=(x + 12) y=(y + 72) { "pods " (pods) }
        }
        text.small.status x=(x + 12) y=(y + 90) { (status) }
    }
}
