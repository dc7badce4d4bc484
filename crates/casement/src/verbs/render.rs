//! `casement render`.

use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_plan::ClusterFacts;
use casement_plan::render::{Kind, Rendered, render};
use casement_source::closest;
use casement_spec::{Cluster, Host};
use clap::Args;

use crate::failure::CommandError;
use crate::{offline, output, spec_file};

/// Show every file, flag and network document that hosts would get.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// flannel, cni, hns, routes, kubelet, kube-proxy, containerd, services,
    /// firewall, defender, env, kubeadm or all
    kind: String,
    /// One host; without it, the cluster and all hosts
    host: Option<String>,
    /// The cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// Write one file each into this folder, instead of all to standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Give each node a part of the pod network, in the order of the hosts; the
    /// control plane may choose otherwise
    #[arg(long)]
    assume_pod_cidrs: bool,
}

/// Runs the verb.
pub fn run_render(arguments: &RenderArgs) -> Result<(), CommandError> {
    let kinds = kinds(&arguments.kind)?;
    let cluster = spec_file::read(&arguments.file)?.cluster;
    let host = match &arguments.host {
        Some(name) => Some(host(&cluster, name)?),
        None => None,
    };
    let facts = facts(&cluster, arguments.assume_pod_cidrs)?;
    let files = render(&cluster, &kinds, host, &facts).map_err(|error| offline::told(&error))?;
    if files.is_empty() {
        let mode = cluster.spec.network.mode();
        eprintln!("There is no `{}` here in mode `{mode}`.", arguments.kind);
        return Ok(());
    }
    match &arguments.out {
        Some(folder) => {
            for file in &files {
                write(folder, file)?;
            }
            eprintln!("{} files in {}", files.len(), folder.display());
        }
        None => output::print(&shown(&files))?,
    }
    Ok(())
}

/// What the file tells of the nodes' pod networks.
pub fn facts(cluster: &Cluster, assume: bool) -> Result<ClusterFacts, CommandError> {
    if !assume {
        return Ok(ClusterFacts::of_spec(cluster));
    }
    let facts = ClusterFacts::assumed(cluster);
    facts.map_err(|error| offline::told(&error.into()).into())
}

fn kinds(name: &str) -> Result<Vec<Kind>, CommandError> {
    let named = Kind::NAMED.iter();
    let kinds: Vec<Kind> = named
        .filter(|(own, _)| name == "all" || name == *own)
        .map(|(_, kind)| *kind)
        .collect();
    if !kinds.is_empty() {
        return Ok(kinds);
    }
    let known = Kind::NAMED.iter().map(|(name, _)| *name).chain(["all"]);
    Err(unknown("CAS-RENDER-001", "kind of document", name, known))
}

fn host<'a>(cluster: &'a Cluster, name: &str) -> Result<&'a Host, CommandError> {
    let hosts = &cluster.spec.hosts;
    if let Some(host) = hosts.iter().find(|host| host.name.as_str() == name) {
        return Ok(host);
    }
    let known = hosts.iter().map(|host| host.name.as_str());
    Err(unknown("CAS-RENDER-002", "host of the file", name, known))
}

fn unknown<'a>(
    code: &'static str,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> CommandError {
    let remedy = match closest(name, known.clone()) {
        Some(better) => format!("did you mean `{better}`?"),
        None => {
            let few: Vec<&str> = known.take(20).collect();
            format!("one of {}", few.join(", "))
        }
    };
    CommandError::usage(Problem::new(code, format!("`{name}` is no {what}"), remedy))
}

/// One file as it is, several each below its name.
fn shown(files: &[Rendered]) -> String {
    if let [file] = files {
        return file.text.clone();
    }
    let named = files
        .iter()
        .map(|file| format!("==> {} <==\n{}", file.path, file.text));
    named.collect::<Vec<_>>().join("\n")
}

fn write(folder: &Path, file: &Rendered) -> Result<(), CommandError> {
    let path = folder.join(&file.path);
    let parent = path.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(&path, &file.text))
        .map_err(|error| unwritten(&path, &error))
}

fn unwritten(path: &Path, error: &std::io::Error) -> CommandError {
    let what = format!("`{}` cannot be written", path.display());
    let problem = Problem::new("CAS-FILE-007", what, "name another folder with --out DIR");
    problem.seen("it says", error).into()
}
