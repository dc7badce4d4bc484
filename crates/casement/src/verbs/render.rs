//! `casement render`.

use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_plan::ClusterFacts;
use casement_plan::render::{Kind, Rendered, render};
use casement_source::closest;
use casement_spec::{Cluster, Host};
use clap::Args;

use crate::failure::CommandError;
use crate::output;
use crate::spec_file;
use crate::verbs::plan::offline;

/// Show the files, flags and network documents that hosts would get.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// Kind: flannel, cni, hns, routes, kubelet, kube-proxy, containerd, services,
    /// firewall, defender, env, kubeadm or all
    kind: String,
    /// Host; the cluster and all hosts by default
    host: Option<String>,
    /// Cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// Write files to this directory instead of standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Assume pod networks for the nodes, in the order of the hosts; the control plane may
    /// assign others
    #[arg(long)]
    assume_pod_cidrs: bool,
}

pub fn run_render(arguments: &RenderArgs) -> Result<(), CommandError> {
    let kinds = kinds(&arguments.kind)?;
    let cluster = spec_file::read(&arguments.file)?.cluster;
    let host = match &arguments.host {
        Some(name) => Some(host(&cluster, name)?),
        None => None,
    };
    let facts = facts(&cluster, arguments.assume_pod_cidrs)?;
    let files = render(&cluster, &kinds, host, &facts).map_err(|error| offline::problem(&error))?;
    if files.is_empty() {
        let mode = cluster.spec.network.mode();
        output::message(&format!(
            "Nothing to render: mode `{mode}` has no `{}` here.",
            arguments.kind
        ));
        return Ok(());
    }
    match &arguments.out {
        Some(dir) => {
            for file in &files {
                write(dir, file)?;
            }
            let count = output::count(files.len(), "file");
            output::message(&format!("Wrote {count} to {}", dir.display()));
        }
        None => output::print(&text(&files))?,
    }
    Ok(())
}

/// The pod networks of nodes: from the cluster file, or assumed.
pub fn facts(cluster: &Cluster, assume: bool) -> Result<ClusterFacts, CommandError> {
    if !assume {
        return Ok(ClusterFacts::of_spec(cluster));
    }
    let facts = ClusterFacts::assumed(cluster);
    facts.map_err(|error| offline::problem(&error.into()).into())
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
    Err(unknown("CAS-RENDER-001", "a kind of document", name, known))
}

fn host<'a>(cluster: &'a Cluster, name: &str) -> Result<&'a Host, CommandError> {
    let hosts = &cluster.spec.hosts;
    if let Some(host) = hosts.iter().find(|host| host.name.as_str() == name) {
        return Ok(host);
    }
    let known = hosts.iter().map(|host| host.name.as_str());
    Err(unknown(
        "CAS-RENDER-002",
        "a host of the cluster file",
        name,
        known,
    ))
}

fn unknown<'a>(
    code: &'static str,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> CommandError {
    let help = match closest(name, known.clone()) {
        Some(better) => format!("did you mean `{better}`?"),
        None => {
            let known: Vec<&str> = known.take(20).collect();
            format!("use one of {}", known.join(", "))
        }
    };
    CommandError::usage(Problem::new(code, format!("`{name}` is not {what}"), help))
}

/// Several files get headings.
fn text(files: &[Rendered]) -> String {
    if let [file] = files {
        return file.text.clone();
    }
    let named = files
        .iter()
        .map(|file| format!("==> {} <==\n{}", file.path, file.text));
    named.collect::<Vec<_>>().join("\n")
}

fn write(dir: &Path, file: &Rendered) -> Result<(), CommandError> {
    let path = dir.join(&file.path);
    let parent = path.parent().unwrap_or(dir);
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(&path, &file.text))
        .map_err(|error| write_failed(&path, &error))
}

fn write_failed(path: &Path, error: &std::io::Error) -> CommandError {
    let what = format!("failed to write `{}`", path.display());
    let problem = Problem::new(
        "CAS-FILE-007",
        what,
        "choose another directory with `--out DIR`",
    );
    problem.detail("cause", error).into()
}
