//! Where the agents are that hosts get.

use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_remote::{Agent, HostOs};
use casement_run::link::Agents;

use crate::told;

/// Finds the agents: in the folder given, beside this program, or where
/// `tools/build-windows` leaves them.
pub fn find(folder: Option<&Path>) -> Result<Agents, Problem> {
    let folders = folders(folder);
    let windows = look(&folders, named(HostOs::Windows));
    let windows = windows.ok_or_else(|| missing(&folders, HostOs::Windows))?;
    Ok(Agents {
        windows: load(&windows, HostOs::Windows)?,
        linux: look(&folders, named(HostOs::Linux))
            .map(|path| load(&path, HostOs::Linux))
            .transpose()?,
    })
}

/// The agent for one system.
pub fn find_for(os: HostOs, folder: Option<&Path>) -> Result<Agent, Problem> {
    let folders = folders(folder);
    let path = look(&folders, named(os)).ok_or_else(|| missing(&folders, os))?;
    load(&path, os)
}

fn load(path: &Path, os: HostOs) -> Result<Agent, Problem> {
    Agent::load(path, os).map_err(|error| told::remote(&error))
}

fn named(os: HostOs) -> &'static str {
    match os {
        HostOs::Windows => "casement-node.exe",
        HostOs::Linux => "casement-node",
    }
}

fn folders(given: Option<&Path>) -> Vec<PathBuf> {
    if let Some(folder) = given {
        return vec![folder.to_owned()];
    }
    let beside = std::env::current_exe().ok();
    let beside = beside.and_then(|program| Some(program.parent()?.to_owned()));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let built = cache.or(home).map(|cache| cache.join("casement/agent"));
    beside.into_iter().chain(built).collect()
}

fn look(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let mut paths = folders.iter().map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

fn missing(folders: &[PathBuf], os: HostOs) -> Problem {
    let looked: Vec<String> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    let name = named(os);
    Problem::new(
        "CAS-CTL-001",
        format!("the agent for {os} hosts, `{name}`, is nowhere to be found"),
        "`just windows` builds it; or name its folder with --agent-dir",
    )
    .seen("looked in", looked.join("\n"))
}
