//! `spec` as a whole.

use casement_spec::{Access, Artifacts, ClusterSpec, Images, Join, Proxy, Runtime, Windows};

use super::{
    access, artifacts, host, if_given, images, kubernetes, machines, network, or_default, windows,
};
use crate::mapping::{Given, Mapping};
use crate::partial::PartialCluster;
use crate::reader::Reader;

/// Reads all parts before it fails, to report the errors of all of them.
pub(super) fn spec(
    reader: &mut Reader<'_>,
    spec: &Mapping<'_>,
    partial: &mut PartialCluster,
) -> Option<ClusterSpec> {
    let kubernetes = spec
        .required("kubernetes")
        .and_then(|at| kubernetes::kubernetes(reader, &at, partial));
    partial.existing = matches!(spec.get("existing"), Given::Value(_));
    let existing = if_given(spec.get("existing"), |at| kubernetes::existing(reader, &at));
    let join = or_default(
        spec.get("join"),
        |at| kubernetes::join(reader, &at),
        Join::default,
    );
    let network = spec
        .required("network")
        .and_then(|at| network::network(reader, &at));
    let hosts = spec
        .required("hosts")
        .and_then(|at| host::hosts(reader, &at, partial));
    let access = or_default(
        spec.get("access"),
        |at| access::access(reader, &at),
        Access::default,
    );
    let runtime = or_default(
        spec.get("runtime"),
        |at| windows::runtime(reader, &at),
        Runtime::default,
    );
    let windows = or_default(
        spec.get("windows"),
        |at| windows::windows(reader, &at),
        Windows::default,
    );
    let proxy = or_default(
        spec.get("proxy"),
        |at| super::windows::proxy(reader, &at),
        Proxy::default,
    );
    let artifacts = or_default(
        spec.get("artifacts"),
        |at| artifacts::artifacts(reader, &at),
        Artifacts::default,
    );
    let images = or_default(
        spec.get("images"),
        |at| images::images(reader, &at),
        Images::default,
    );
    let machines = if_given(spec.get("machines"), |at| machines::machines(reader, &at));
    Some(ClusterSpec {
        kubernetes: kubernetes?,
        existing: existing?,
        join: join?,
        network: network?,
        hosts: hosts?,
        access: access?,
        runtime: runtime?,
        windows: windows?,
        proxy: proxy?,
        artifacts: artifacts?,
        images: images?,
        machines: machines?,
    })
}
