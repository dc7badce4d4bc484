//! Why a pod does not run.

use casement_catalog::build_of_tag;
use casement_diag::Problem;

use crate::doctor::Finding;
use crate::seen::{HostSeen, PodSeen};

/// The cause, as far as the pod's own events tell it.
pub(crate) fn cause(pod: &PodSeen, host: &HostSeen) -> Finding {
    let image = image_of(&pod.message);
    let other_build = pod.message.contains("no match for platform in manifest")
        || pod.message.contains("0xc0370101");
    let problem = match (image, other_build) {
        (Some(image), true) => other_windows(image, host),
        _ => Problem::new(
            "CAS-DOC-014",
            format!("the pod {} does not run on {}", pod.name, host.name),
            "what it says names the cause; `kubectl describe pod` shows the whole story",
        )
        .seen("waits for", &pod.reason),
    };
    Finding::on(&host.name, problem.seen("it says", &pod.message))
}

/// An image that is made for another Windows.
fn other_windows(image: &str, host: &HostSeen) -> Problem {
    let version = host.facts.as_ref().map(|facts| facts.version.as_str());
    let version = version.unwrap_or("unknown");
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    let problem = Problem::new(
        "CAS-DOC-011",
        format!("`{image}` has nothing for the Windows of {}", host.name),
        "name an image that is made for this build, or one for several; \
         `casement catalog images` lists what runs where",
    )
    .seen("host", version);
    match build_of_tag(tag) {
        Some(build) => problem.seen("image", format!("made for build {build}")),
        None => problem,
    }
}

/// The image that a message is about.
fn image_of(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("image \"")?;
    rest.split('"').next()
}
