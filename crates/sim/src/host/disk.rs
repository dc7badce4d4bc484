//! The files of a simulated host, as its programs read and write them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_node::sim::{Sim, Thing, World};
use casement_resource::HostPath;

const WIDE: &str = "everybody";

/// What a program is that it finds on the disk: simulated hosts hold a line of text
/// in its place.
const STAND_IN: &str = "simulated program ";

/// The text of a file.
pub(crate) fn text(world: &World, path: &str) -> Option<String> {
    let path: HostPath = path.parse().ok()?;
    match world.entries.get(&path)? {
        (Thing::File(bytes), _) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    }
}

/// The files of a folder whose names end so, by name.
pub(crate) fn files_in(world: &World, folder: &str, endings: &[&str]) -> Vec<HostPath> {
    let Ok(folder) = folder.parse::<HostPath>() else {
        return Vec::new();
    };
    let inside = |path: &HostPath| path.parent().as_ref() == Some(&folder);
    let ends = |path: &HostPath| endings.iter().any(|end| path.file_name().ends_with(end));
    let files = world.entries.iter();
    let files = files.filter(|(_, (thing, _))| matches!(thing, Thing::File(_)));
    let files = files.map(|(path, _)| path);
    files
        .filter(|path| inside(path) && ends(path))
        .cloned()
        .collect()
}

/// Writes a file, with the folders above it.
pub(crate) fn put(sim: &Sim, path: &HostPath, text: &str) {
    sim.meddle(|world| put_in(world, path, text));
}

/// The same in a world that is at hand.
pub(crate) fn put_in(world: &mut World, path: &HostPath, text: &str) {
    let mut folder = path.parent();
    while let Some(above) = folder {
        let entry = world.entries.entry(above.clone());
        entry.or_insert((Thing::Directory, WIDE.to_owned()));
        folder = above.parent();
    }
    let file = Thing::File(text.as_bytes().to_vec());
    world.entries.insert(path.clone(), (file, WIDE.to_owned()));
}

/// What stands on a simulated host's disk in place of a program.
#[must_use]
pub fn stand_in(program: &str, version: &str) -> String {
    format!("{STAND_IN}{program} {version}\n")
}

/// The version of a program that a host has, with its `v`; what else is there is
/// nothing that a simulated host can run.
pub(crate) fn version_of(world: &World, path: &str) -> Option<String> {
    let text = text(world, path)?;
    let words = text.trim().strip_prefix(STAND_IN)?;
    words.split_once(' ').map(|(_, version)| version.to_owned())
}

/// What a kubeconfig holds in base64.
pub(crate) fn decoded(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}
