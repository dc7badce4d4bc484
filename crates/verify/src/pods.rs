//! Causes of pods that do not run.

use casement_catalog::build_of_tag;
use casement_diag::Problem;

use crate::doctor::Finding;
use crate::observation::{HostObservation, PodObservation};

/// The cause according to the events of the pod.
pub(crate) fn cause(pod: &PodObservation, host: &HostObservation) -> Finding {
    let image = image_of(&pod.message);
    let other_build = pod.message.contains("no match for platform in manifest")
        || pod.message.contains("0xc0370101");
    let problem = match (image, other_build) {
        (Some(image), true) => wrong_build(image, host),
        _ => Problem::new(
            "CAS-DOC-014",
            format!("the pod {} is not running on {}", pod.name, host.name),
            format!(
                "run `kubectl describe pod {}` for the full event history",
                kubectl_name(&pod.name)
            ),
        )
        .detail("reason", &pod.reason),
    };
    Finding::on(&host.name, problem.detail("message", &pod.message))
}

/// `namespace/name` as arguments of kubectl.
fn kubectl_name(name: &str) -> String {
    match name.split_once('/') {
        Some((namespace, name)) => format!("-n {namespace} {name}"),
        None => name.to_owned(),
    }
}

/// An image for another Windows build.
fn wrong_build(image: &str, host: &HostObservation) -> Problem {
    let version = host.facts.as_ref().map(|facts| facts.version.as_str());
    let version = version.unwrap_or("unknown");
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    let problem = Problem::new(
        "CAS-DOC-011",
        format!(
            "`{image}` does not support the Windows build of {}",
            host.name
        ),
        "use an image for this build, or a multi-platform image; \
         run `casement catalog images` to list compatible builds",
    )
    .detail("host", version);
    match build_of_tag(tag) {
        Some(build) => problem.detail("image", format!("for build {build}")),
        None => problem,
    }
}

/// The image name in a message.
fn image_of(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("image \"")?;
    rest.split('"').next()
}
