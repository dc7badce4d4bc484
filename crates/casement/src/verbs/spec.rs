//! `casement spec`.

use std::path::PathBuf;

use casement_diag::Problem;
use casement_source::{normalised, schema, with_defaults};
use clap::Args;

use crate::failure::CommandError;
use crate::output;
use crate::spec_file;

/// Check a cluster file and print it in its usual form.
#[derive(Debug, Args)]
pub struct SpecArgs {
    /// The cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: PathBuf,
    /// Fill in every default, and mark it
    #[arg(long)]
    defaults: bool,
    /// Print the JSON Schema of cluster files, for editors; no file is read
    #[arg(long, conflicts_with_all = ["defaults", "file", "output"])]
    schema: bool,
    /// Print JSON, every default filled in
    #[arg(short, long, value_parser = ["yaml", "json"], default_value = "yaml")]
    output: String,
}

/// Runs the verb.
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
        (_, false) => normalised(&file.cluster, &file.map).map_err(|error| error.to_string()),
    };
    let text = text.map_err(|error| {
        let file = arguments.file.display();
        Problem::new(
            "CAS-FILE-005",
            format!("`{file}` cannot be written out"),
            "please report the file and this message",
        )
        .seen("it says", error)
    })?;
    output::print(&text)
}
