//! `casement init`.

#[path = "init/inventory.rs"]
mod inventory;
#[path = "init/output_file.rs"]
mod output;

use std::io::IsTerminal;
use std::path::PathBuf;

use casement_diag::{Style, has_errors, render_all, summary};
use casement_source::import::{
    Draft, KubeInit, Note, NoteKind, from_kubeinit, from_script_args, starter,
};
use clap::Args;

use crate::failure::CommandError;

/// Write a cluster file, from nothing or from what another tool was told.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// An Ansible inventory, INI or YAML; group_vars and host_vars beside it are read too
    #[arg(long, value_name = "FILE", group = "source")]
    from_inventory: Option<PathBuf>,
    /// A `kubeinit_spec`, such as k8s-libvirt-1-1-1
    #[arg(long, value_name = "SPEC", group = "source")]
    from_kubeinit: Option<String>,
    /// The arguments of the one-script installer: '-BaseDir C:\k -ClusterCIDR …'
    #[arg(
        long,
        value_name = "ARGUMENTS",
        group = "source",
        allow_hyphen_values = true
    )]
    from_script_args: Option<String>,
    /// KubeInit's `cluster_nodes_spec`
    #[arg(long, value_name = "LIST", requires = "from_kubeinit")]
    nodes: Option<String>,
    /// KubeInit's `hypervisor_hosts_spec`
    #[arg(long, value_name = "LIST", requires = "from_kubeinit")]
    hypervisors: Option<String>,
    /// KubeInit's `kubeinit_network_spec`
    #[arg(long, value_name = "MAP", requires = "from_kubeinit")]
    network: Option<String>,
    /// KubeInit's `kubeinit_cluster_spec`
    #[arg(long, value_name = "MAP", requires = "from_kubeinit")]
    cluster: Option<String>,
    /// Where to write it; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "cluster.yaml")]
    out: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

/// Runs the verb.
pub fn run_init(arguments: &InitArgs) -> Result<(), CommandError> {
    output::check(&arguments.out, arguments.force)?;
    let draft = draft(arguments)?;
    output::write(&arguments.out, &draft.text, arguments.force)?;
    tell(arguments, &draft);
    Ok(())
}

fn draft(arguments: &InitArgs) -> Result<Draft, CommandError> {
    if let Some(file) = &arguments.from_inventory {
        return inventory::draft(file);
    }
    if let Some(spec) = &arguments.from_kubeinit {
        let told = KubeInit {
            spec,
            nodes: arguments.nodes.as_deref(),
            hypervisors: arguments.hypervisors.as_deref(),
            network: arguments.network.as_deref(),
            cluster: arguments.cluster.as_deref(),
        };
        return from_kubeinit(&told).map_err(|problem| CommandError::usage(*problem));
    }
    if let Some(told) = &arguments.from_script_args {
        return from_script_args(told).map_err(|problem| CommandError::usage(*problem));
    }
    Ok(starter())
}

/// How findings are drawn on standard error.
fn style() -> Style {
    match std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => Style::Colour,
        false => Style::Plain,
    }
}

/// Says what a person should know: on standard error, because the file itself
/// may be on standard output.
fn tell(arguments: &InitArgs, draft: &Draft) {
    let kinds = [
        (
            NoteKind::Secret,
            "secrets in clear text, left where they are",
        ),
        (NoteKind::Assumed, "assumed"),
        (NoteKind::NotCarried, "not carried over"),
    ];
    for (kind, title) in kinds {
        let notes: Vec<_> = draft
            .notes
            .iter()
            .filter(|note| note.kind == kind)
            .collect();
        if notes.is_empty() {
            continue;
        }
        eprintln!("{title}: {}", notes.len());
        for Note { place, text, .. } in notes {
            let place = place.as_ref().map(|place| format!("{place}  "));
            eprintln!("  {}{text}", place.unwrap_or_default());
        }
    }
    let name = match arguments.out.to_str() {
        Some("-") | None => "cluster.yaml".to_owned(),
        Some(name) => name.to_owned(),
    };
    let loaded = casement_source::load(&name, &draft.text);
    if has_errors(&loaded.diagnostics) {
        let said = render_all(&loaded.diagnostics, Some(&loaded.map), style());
        eprint!("\n{said}\n{}: ", summary(&loaded.diagnostics));
        eprintln!("mend the file, then `casement lint -f {name}`");
    } else if arguments.out.as_os_str() != "-" {
        eprintln!("Wrote {name}. Next: `casement lint -f {name}`, then `casement plan -f {name}`");
    }
}
