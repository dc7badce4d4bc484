//! Images that a Windows host has before pods need them: they are large, and some are not
//! published.

use casement_resource::service_names::{CONTAINERD, DOCKER};
use casement_resource::step_ids;
use casement_resource::{Condition, Image, ImageSource, ImageStore, Resource};
use casement_spec::{ImageRef, ImageVerify};

use crate::containerd::Containerd;
use crate::kubelet::{Kubelet, OWN_PAUSE};
use crate::node_paths;
use crate::services::file;
use crate::steps::{PlanError, Steps, path};

/// Windows base images have about 2 GB.
const TIMEOUT_SECONDS: u32 = 3600;

/// `images.prepull`, and the pause image where the host must build its own.
pub(super) fn images(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    let (store, after) = store(kubelet)?;
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    let spec = &kubelet.cluster.spec.images;
    for wanted in &spec.prepull {
        let wanted = kubelet.overridden(wanted);
        let name = match store {
            ImageStore::Containerd { .. } => full(wanted),
            ImageStore::Docker { .. } => wanted.to_string(),
        };
        let id = format!("image-{}", name.replace(['/', ':', '@'], "-"));
        let image = Image {
            try_out: try_out(wanted),
            check_build: spec.verify == ImageVerify::Build,
            ..plain(name, store.clone())
        };
        steps.add(&id, &after, Resource::Image(image))?;
    }
    own_pause(steps, kubelet, store)
}

fn store(kubelet: &Kubelet<'_>) -> Result<(ImageStore, Vec<String>), PlanError> {
    let paths = kubelet.paths;
    let Some(containerd) = Containerd::of(kubelet) else {
        let store = ImageStore::Docker {
            docker: path(node_paths::WINDOWS_DOCKER)?,
            ready: Condition::ServiceRunning(DOCKER.to_owned()),
        };
        return Ok((store, vec![step_ids::service(DOCKER)]));
    };
    let store = ImageStore::Containerd {
        ctr: path(&paths.below(containerd.folder, &["ctr.exe"]))?,
        address: node_paths::CONTAINERD_PIPE.to_owned(),
        registries: path(&containerd.registries())?,
        ready: Condition::NamedPipe(node_paths::CONTAINERD_PIPE.to_owned()),
    };
    let after = vec![step_ids::service(CONTAINERD), "bin-ctr".to_owned()];
    Ok((store, after))
}

fn plain(name: String, store: ImageStore) -> Image {
    Image {
        name,
        tags: Vec::new(),
        store,
        source: ImageSource::Registry,
        check_build: false,
        try_out: Vec::new(),
        timeout_seconds: TIMEOUT_SECONDS,
    }
}

/// Only Windows base images are run as a check: others may have no command that exits.
fn try_out(image: &ImageRef) -> Vec<String> {
    let bases = ["windows/nanoserver", "windows/servercore", "windows/server"];
    if !bases.iter().any(|base| image.name().ends_with(base)) {
        return Vec::new();
    }
    ["cmd", "/c", "exit", "0"].map(str::to_owned).to_vec()
}

/// With registry and tag: containerd has no defaults for them.
fn full(image: &ImageRef) -> String {
    let (name, text) = (image.name(), image.to_string());
    let first = name.split_once('/').map(|(first, _)| first);
    let text = match first {
        Some(first) if first.contains(['.', ':']) || first == "localhost" => text,
        Some(_) => format!("docker.io/{text}"),
        None => format!("docker.io/library/{text}"),
    };
    if image.tag().is_none() && image.digest().is_none() {
        return format!("{text}:latest");
    }
    text
}

fn own_pause(steps: &mut Steps, kubelet: &Kubelet<'_>, store: ImageStore) -> Result<(), PlanError> {
    let Some(base) = kubelet.own_pause() else {
        return Ok(());
    };
    let paths = kubelet.paths;
    let folder = paths.below(&paths.programs, &["pause"]);
    let file_path = paths.below(&folder, &["Dockerfile"]);
    let text = format!("FROM {base}\nCMD cmd /c ping -t localhost\n");
    file(steps, "pause-dockerfile", &["dir-base"], &file_path, text)?;
    let image = Image {
        source: ImageSource::Folder(path(&folder)?),
        ..plain(OWN_PAUSE.to_owned(), store)
    };
    let docker = step_ids::service(DOCKER);
    let after = [docker.as_str(), "pause-dockerfile"];
    steps.add("image-pause", &after, Resource::Image(image))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containerd_is_told_the_whole_name() {
        let name = |text: &str| full(&text.parse().unwrap());
        assert_eq!(name("nginx"), "docker.io/library/nginx:latest");
        assert_eq!(name("me/web:1"), "docker.io/me/web:1");
        let whole = "mcr.microsoft.com/windows/nanoserver:ltsc2022";
        assert_eq!(name(whole), whole);
        assert_eq!(name("r:5000/web"), "r:5000/web:latest");
    }

    #[test]
    fn only_bases_of_windows_are_tried_out() {
        let tried = |text: &str| !try_out(&text.parse().unwrap()).is_empty();
        assert!(tried("mcr.microsoft.com/windows/servercore:ltsc2022"));
        assert!(!tried("registry.k8s.io/pause:3.10"));
    }
}
