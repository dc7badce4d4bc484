//! `casement init`.

mod inventory;
mod output_file;

use std::path::PathBuf;

use casement_diag::{has_errors, render_all, summary};
use casement_source::import::{
    Draft, KubeInit, Note, NoteKind, from_kubeinit, from_script_args, starter,
};
use clap::Args;

use crate::failure::CommandError;
use crate::output;

/// Create a cluster file, new or from the configuration of another tool.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Ansible inventory, INI or YAML; group_vars and host_vars next to it are read too
    #[arg(long, value_name = "FILE", group = "source")]
    from_inventory: Option<PathBuf>,
    /// KubeInit's `kubeinit_spec`, such as k8s-libvirt-1-1-1
    #[arg(long, value_name = "SPEC", group = "source")]
    from_kubeinit: Option<String>,
    /// Arguments of the single-script installer: '-BaseDir C:\k -ClusterCIDR ...'
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
    /// Output file; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "cluster.yaml")]
    out: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub fn run_init(arguments: &InitArgs) -> Result<(), CommandError> {
    output_file::check(&arguments.out, arguments.force)?;
    let draft = draft(arguments)?;
    output_file::write(&arguments.out, &draft.text, arguments.force)?;
    report(arguments, &draft);
    Ok(())
}

fn draft(arguments: &InitArgs) -> Result<Draft, CommandError> {
    if let Some(file) = &arguments.from_inventory {
        return inventory::draft(file);
    }
    if let Some(spec) = &arguments.from_kubeinit {
        let settings = KubeInit {
            spec,
            nodes: arguments.nodes.as_deref(),
            hypervisors: arguments.hypervisors.as_deref(),
            network: arguments.network.as_deref(),
            cluster: arguments.cluster.as_deref(),
        };
        return from_kubeinit(&settings).map_err(|problem| CommandError::usage(*problem));
    }
    if let Some(line) = &arguments.from_script_args {
        return from_script_args(line).map_err(|problem| CommandError::usage(*problem));
    }
    Ok(starter())
}

/// To standard error, because standard output may be the file.
fn report(arguments: &InitArgs, draft: &Draft) {
    let kinds = [
        (NoteKind::Secret, "plain-text secrets, not imported"),
        (NoteKind::Assumed, "assumed"),
        (NoteKind::NotImported, "not imported"),
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
        for Note { location, text, .. } in notes {
            let location = location.as_ref().map(|location| format!("{location}  "));
            eprintln!("  {}{text}", location.unwrap_or_default());
        }
    }
    let name = match arguments.out.to_str() {
        Some("-") | None => "cluster.yaml".to_owned(),
        Some(name) => name.to_owned(),
    };
    let loaded = casement_source::load(&name, &draft.text);
    if has_errors(&loaded.diagnostics) {
        let style = output::style(&std::io::stderr());
        let findings = render_all(&loaded.diagnostics, Some(&loaded.map), style);
        let findings = output::encode(&findings);
        eprintln!("\n{findings}\n{}", summary(&loaded.diagnostics));
        eprintln!("Fix the file, then run `casement lint -f {name}`.");
    } else if arguments.out.as_os_str() != "-" {
        eprintln!("Wrote {name}. Run `casement lint -f {name}`, then `casement plan -f {name}`.");
    }
}
