//! The cluster file, from the disk to a spec that can be planned.

use std::io::IsTerminal;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use casement_diag::{Problem, Style, has_errors, render_all, summary};
use casement_spec::Cluster;

use crate::failure::CommandError;

/// Reads a file and resolves the paths in it. What is wrong with it has been
/// printed when this gives an error.
pub fn read(path: &Path) -> Result<Cluster, CommandError> {
    let bytes = std::fs::read(path).map_err(|error| {
        let problem = Problem::new(
            "CAS-FILE-001",
            format!("the cluster file `{}` cannot be read", path.display()),
            "name it with -f FILE; examples/existing-cluster.yaml is one to begin with",
        );
        CommandError::usage(problem.seen("it says", error))
    })?;
    let loaded = casement_source::load_bytes(&path.display().to_string(), &bytes);
    if !loaded.diagnostics.is_empty() {
        let style = if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
            Style::Colour
        } else {
            Style::Plain
        };
        eprint!(
            "{}",
            render_all(&loaded.diagnostics, Some(&loaded.map), style)
        );
    }
    let Some(mut cluster) = loaded.cluster.filter(|_| !has_errors(&loaded.diagnostics)) else {
        eprintln!("\n{}", summary(&loaded.diagnostics));
        return Err(CommandError::told(3));
    };
    resolve(&mut cluster, path)?;
    Ok(cluster)
}

fn resolve(cluster: &mut Cluster, path: &Path) -> Result<(), CommandError> {
    let absolute = std::path::absolute(path).ok();
    let folder = absolute.as_deref().and_then(Path::parent);
    let folder = folder.and_then(Utf8Path::from_path).ok_or_else(|| {
        CommandError::usage(Problem::new(
            "CAS-FILE-002",
            format!(
                "the folder of `{}` has a name that is no text",
                path.display()
            ),
            "move the file to a folder whose name is UTF-8",
        ))
    })?;
    let home = std::env::var("HOME").ok().map(Utf8PathBuf::from);
    cluster.resolve(folder, home.as_deref()).map_err(|error| {
        CommandError::usage(Problem::new("CAS-FILE-003", error.to_string(), "set HOME"))
    })
}
