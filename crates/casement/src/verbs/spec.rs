//! `casement spec`.

use std::path::PathBuf;

use casement_diag::Problem;
use casement_source::{normalized, schema, with_defaults};
use clap::Args;

use crate::failure::CommandError;
use crate::output;
use crate::spec_file;

/// Validate a cluster file and print it normalized.
#[derive(Debug, Args)]
pub struct SpecArgs {
    /// Cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// Include default values, marked as such
    #[arg(long)]
    defaults: bool,
    /// Print the JSON Schema of cluster files, for editors; reads no file
    #[arg(long, conflicts_with_all = ["defaults", "file", "output"])]
    schema: bool,
    /// Output format; JSON includes default values
    #[arg(short, long, value_parser = ["yaml", "json"], default_value = "yaml")]
    output: String,
}

pub fn run_spec(arguments: &SpecArgs) -> Result<(), CommandError> {
    if arguments.schema {
        return output::print(&format!("{:#}\n", schema()));
    }
    let file = spec_file::read(&arguments.file)?;
    let text = match (arguments.output.as_str(), arguments.defaults) {
        ("json", _) => serde_json::to_string_pretty(&file.cluster)
            .map(|text| text + "\n")
            .map_err(|error| error.to_string()),
        (_, true) => with_defaults(&file.cluster, &file.map).map_err(|error| error.to_string()),
        (_, false) => normalized(&file.cluster, &file.map).map_err(|error| error.to_string()),
    };
    let text = text.map_err(|error| {
        let file = arguments.file.display();
        Problem::new(
            "CAS-FILE-005",
            format!("failed to serialize `{file}`"),
            "report this as a bug, with the file",
        )
        .detail("cause", error)
    })?;
    output::print(&text)
}
