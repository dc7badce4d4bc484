//! `casement catalog`.

use casement_catalog::{Table, Topic};
use casement_diag::Problem;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::failure::CommandError;
use crate::{columns, output};

/// Show compatible versions, with their sources.
#[derive(Debug, Args)]
pub struct CatalogArgs {
    /// Table to show; lists the tables by default
    #[arg(value_parser = PossibleValuesParser::new(Topic::ALL.iter().map(|topic| topic.name())))]
    #[arg(hide_possible_values = true)]
    topic: Option<String>,
    /// Output format
    #[arg(short, long, value_parser = ["table", "json", "yaml"], default_value = "table")]
    output: String,
}

pub fn run_catalog(arguments: &CatalogArgs) -> Result<(), CommandError> {
    let topic = arguments.topic.as_deref().and_then(Topic::from_name);
    let table = topic.map_or_else(topics, Topic::table);
    output::print(&formatted(&table, &arguments.output)?)
}

fn topics() -> Table {
    let row = |topic: &Topic| vec![topic.name().to_owned(), topic.summary().to_owned()];
    Table {
        columns: &["topic", "description"],
        rows: Topic::ALL.iter().map(row).collect(),
    }
}

fn formatted(table: &Table, format: &str) -> Result<String, Problem> {
    let text = match format {
        "json" => serde_json::to_string_pretty(table)
            .map(|text| text + "\n")
            .map_err(|error| error.to_string()),
        "yaml" => serde_saphyr::to_string(table).map_err(|error| error.to_string()),
        _ => Ok(columns::table(table.columns, &table.rows)),
    };
    text.map_err(|error| {
        Problem::new(
            "CAS-OUT-001",
            format!("failed to format the table as {format}"),
            "choose another format with `-o`",
        )
        .detail("cause", error)
    })
}
