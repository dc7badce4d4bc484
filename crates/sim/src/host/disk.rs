//! The files of a simulated host, as its programs read and write them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_node::sim::{Sim, SimEntry, World};
use casement_resource::HostPath;

const UNRESTRICTED: &str = "everybody";

/// Program files on simulated hosts hold one line of text that starts with this.
const PLACEHOLDER: &str = "simulated program ";

pub(crate) fn text(world: &World, path: &str) -> Option<String> {
    let path: HostPath = path.parse().ok()?;
    match world.entries.get(&path)? {
        (SimEntry::File(bytes), _) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    }
}

/// Files of a directory with one of these suffixes, sorted by name.
pub(crate) fn files_in(world: &World, dir: &str, suffixes: &[&str]) -> Vec<HostPath> {
    let Ok(dir) = dir.parse::<HostPath>() else {
        return Vec::new();
    };
    let is_inside = |path: &HostPath| path.parent().as_ref() == Some(&dir);
    let has_suffix = |path: &HostPath| {
        suffixes
            .iter()
            .any(|suffix| path.file_name().ends_with(suffix))
    };
    let files = world.entries.iter();
    let files = files.filter(|(_, (thing, _))| matches!(thing, SimEntry::File(_)));
    let files = files.map(|(path, _)| path);
    files
        .filter(|path| is_inside(path) && has_suffix(path))
        .cloned()
        .collect()
}

/// Writes a file and creates its parent directories.
pub(crate) fn write(sim: &Sim, path: &HostPath, text: &str) {
    sim.modify_world(|world| write_to(world, path, text));
}

/// Like [`write`], in a world that is already borrowed.
pub(crate) fn write_to(world: &mut World, path: &HostPath, text: &str) {
    let mut dir = path.parent();
    while let Some(parent) = dir {
        let entry = world.entries.entry(parent.clone());
        entry.or_insert((SimEntry::Directory, UNRESTRICTED.to_owned()));
        dir = parent.parent();
    }
    let file = SimEntry::File(text.as_bytes().to_vec());
    world
        .entries
        .insert(path.clone(), (file, UNRESTRICTED.to_owned()));
}

/// Content of a program file on a simulated host.
#[must_use]
pub fn placeholder_program(program: &str, version: &str) -> String {
    format!("{PLACEHOLDER}{program} {version}\n")
}

/// The version of an installed program, with its `v`; `None` for a file that a simulated
/// host cannot run.
pub(crate) fn version_of(world: &World, path: &str) -> Option<String> {
    let text = text(world, path)?;
    let description = text.trim().strip_prefix(PLACEHOLDER)?;
    description
        .split_once(' ')
        .map(|(_, version)| version.to_owned())
}

pub(crate) fn decode_base64(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}
