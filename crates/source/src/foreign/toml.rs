//! Parses TOML into a tree.

use casement_diag::Diagnostic;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::node::{Data, Entries, Entry, Node, Scalar};

use super::syntax_error;

pub(super) fn parse(text: &str) -> Result<Node, Box<Diagnostic>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let message = format!("invalid TOML: {}", error.message());
        syntax_error(
            at,
            message,
            "run `containerd config dump` to see how containerd reads the file",
        )
    })?;
    Ok(Node {
        range: 0..text.len(),
        data: mapping(table.get_ref()),
    })
}

fn mapping(table: &DeTable<'_>) -> Data {
    let mut fields: Vec<_> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_range: key.span(),
            value: node(value),
        })
        .collect();
    fields.sort_by_key(|entry| entry.key_range.start);
    let mut entries = Entries::default();
    for field in fields {
        // The TOML parser rejects duplicate keys.
        drop(entries.push(field));
    }
    Data::Mapping(entries)
}

fn node(value: &Spanned<DeValue<'_>>) -> Node {
    let scalar = |text: String, plain| {
        Data::Scalar(Scalar {
            text,
            plain,
            secret: false,
        })
    };
    let data = match value.get_ref() {
        DeValue::String(text) => scalar(text.to_string(), false),
        DeValue::Integer(number) => scalar(number.to_string(), true),
        DeValue::Float(number) => scalar(number.to_string(), true),
        DeValue::Boolean(boolean) => scalar(boolean.to_string(), true),
        DeValue::Datetime(datetime) => scalar(datetime.to_string(), true),
        DeValue::Array(items) => Data::List(items.iter().map(node).collect()),
        DeValue::Table(table) => mapping(table),
    };
    Node {
        range: value.span(),
        data,
    }
}
