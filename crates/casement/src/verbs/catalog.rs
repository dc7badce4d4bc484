//! `casement catalog`.

use casement_catalog::{Table, Topic};
use casement_diag::Problem;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::failure::CommandError;
use crate::{columns, json, output};

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
    let document = json::Catalog {
        topic: topic.map(Topic::name),
        rows: topic.map_or_else(topics, Topic::table),
    };
    output::print(&formatted(&document, &arguments.output)?)
}

fn topics() -> Table {
    let row = |topic: &Topic| vec![topic.name().to_owned(), topic.summary().to_owned()];
    Table {
        columns: &["topic", "description"],
        rows: Topic::ALL.iter().map(row).collect(),
    }
}

fn formatted(document: &json::Catalog, format: &str) -> Result<String, Problem> {
    let table = &document.rows;
    match format {
        "json" => Ok(json::text(document)),
        "yaml" => json::yaml(document),
        _ => Ok(columns::table(table.columns, &table.rows)),
    }
}
