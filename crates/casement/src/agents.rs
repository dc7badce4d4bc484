//! Finds the agent executables that are uploaded to hosts.

use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_remote::{Agent, HostOs};
use casement_run::agent_client::Agents;

/// The agent for Windows hosts, and the one for Linux hosts if there are any.
pub fn find(dir: Option<&Path>, hosts: &[HostOs]) -> Result<Agents, Problem> {
    let linux = hosts.contains(&HostOs::Linux);
    Ok(Agents {
        windows: find_for(HostOs::Windows, dir)?,
        linux: linux.then(|| find_for(HostOs::Linux, dir)).transpose()?,
    })
}

/// Searches the given directory; else the directory of this program, and the output of
/// `tools/build-windows`.
pub fn find_for(os: HostOs, dir: Option<&Path>) -> Result<Agent, Problem> {
    let dirs = dirs(dir);
    let path = search(&dirs, file_name(os)).ok_or_else(|| missing(&dirs, os))?;
    load(&path, os)
}

fn load(path: &Path, os: HostOs) -> Result<Agent, Problem> {
    Agent::load(path, os).map_err(|error| error.problem())
}

fn file_name(os: HostOs) -> &'static str {
    match os {
        HostOs::Windows => "casement-node.exe",
        HostOs::Linux => "casement-node",
    }
}

fn dirs(given: Option<&Path>) -> Vec<PathBuf> {
    if let Some(dir) = given {
        return vec![dir.to_owned()];
    }
    let program = std::env::current_exe().ok();
    let program_dir = program.and_then(|program| Some(program.parent()?.to_owned()));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let build_dir = cache.or(home).map(|cache| cache.join("casement/agent"));
    program_dir.into_iter().chain(build_dir).collect()
}

fn search(dirs: &[PathBuf], name: &str) -> Option<PathBuf> {
    let mut paths = dirs.iter().map(|dir| dir.join(name));
    paths.find(|path| path.is_file())
}

fn missing(dirs: &[PathBuf], os: HostOs) -> Problem {
    let searched = dirs.iter().map(|dir| dir.display().to_string());
    let searched: Vec<String> = searched.collect();
    let name = file_name(os);
    Problem::new(
        "CAS-CTL-001",
        format!("the agent for {os} hosts, `{name}`, was not found"),
        "build it with `just windows`, or set its directory with `--agent-dir`",
    )
    .detail("searched", searched.join("\n"))
}
