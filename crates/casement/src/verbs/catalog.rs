//! `casement catalog`.

use casement_catalog::{Table, Topic};
use casement_diag::Problem;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::failure::CommandError;
use crate::{columns, output};

/// Which versions go together, and where it says so.
#[derive(Debug, Args)]
pub struct CatalogArgs {
    /// The table to show; without it, the list of tables
    #[arg(value_parser = PossibleValuesParser::new(Topic::ALL.iter().map(|topic| topic.name())))]
    #[arg(hide_possible_values = true)]
    topic: Option<String>,
    /// The form of what is printed
    #[arg(short, long, value_parser = ["table", "json", "yaml"], default_value = "table")]
    output: String,
}

/// Runs the verb.
pub fn run_catalog(arguments: &CatalogArgs) -> Result<(), CommandError> {
    let topic = arguments.topic.as_deref().and_then(Topic::from_name);
    let table = topic.map_or_else(topics, Topic::table);
    output::print(&shown(&table, &arguments.output)?)
}

/// What there is to show.
fn topics() -> Table {
    let row = |topic: &Topic| vec![topic.name().to_owned(), topic.summary().to_owned()];
    Table {
        columns: &["topic", "what it says"],
        rows: Topic::ALL.iter().map(row).collect(),
    }
}

fn shown(table: &Table, form: &str) -> Result<String, Problem> {
    let text = match form {
        "json" => serde_json::to_string_pretty(table)
            .map(|text| text + "\n")
            .map_err(|error| error.to_string()),
        "yaml" => serde_saphyr::to_string(table).map_err(|error| error.to_string()),
        _ => Ok(columns::table(table.columns, &table.rows)),
    };
    text.map_err(|error| {
        Problem::new(
            "CAS-OUT-001",
            format!("the table cannot be written as {form}"),
            "take another form with -o",
        )
        .seen("it says", error)
    })
}
