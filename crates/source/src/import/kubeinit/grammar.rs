//! The two formats of KubeInit lists.

use casement_diag::Problem;

use super::problem;
use crate::import::ansible::tree::{self, Data, Node};

pub(super) type Pairs = Vec<(String, String)>;

const LIST: &str = "use `[[when_group=compute_nodes,os=windows]]` or `[{\"when_group\": \"compute_nodes\", \"os\": \"windows\"}]`";
const MAP: &str = "use `[network=10.0.0.0/24]` or `{\"network\": \"10.0.0.0/24\"}`";

pub(super) fn list(option: &str, text: &str) -> Result<Vec<Pairs>, Box<Problem>> {
    let error = |what: &str| problem(format!("`{option}` {what}"), ("value", text), LIST);
    let root = root(option, text, LIST)?;
    let Data::List(items) = &root.data else {
        return Err(error("is not a list"));
    };
    let pairs = items.iter().map(|item| {
        pairs(item)
            .ok_or_else(|| error("has an item that is neither a `key=value` list nor a mapping"))
    });
    pairs.collect()
}

pub(super) fn map(option: &str, text: &str) -> Result<Pairs, Box<Problem>> {
    let root = root(option, text, MAP)?;
    pairs(&root).ok_or_else(|| {
        problem(
            format!("`{option}` is neither a `key=value` list nor a mapping"),
            ("value", text),
            MAP,
        )
    })
}

fn root(option: &str, text: &str, help: &str) -> Result<Node, Box<Problem>> {
    match tree::parse(text) {
        Ok(Some(root)) => Ok(root),
        Ok(None) => Err(problem(
            format!("`{option}` is empty"),
            ("value", text),
            help,
        )),
        Err(error) => Err(problem(
            format!("`{option}` is invalid: {}", error.message),
            ("value", text),
            help,
        )),
    }
}

fn pairs(node: &Node) -> Option<Pairs> {
    match &node.data {
        Data::Map(pairs) => pairs
            .iter()
            .map(|(key, value)| {
                let value = match &value.data {
                    Data::Scalar(value) => value.scalar()?,
                    Data::List(items) => {
                        let words = items.iter().map(|item| match &item.data {
                            Data::Scalar(value) => value.scalar(),
                            _ => None,
                        });
                        words.collect::<Option<Vec<_>>>()?.join(",")
                    }
                    Data::Map(_) => return None,
                };
                Some((key.text()?.to_owned(), value))
            })
            .collect(),
        Data::List(items) => items
            .iter()
            .map(|item| {
                let (key, value) = item.text()?.split_once('=')?;
                Some((key.trim().to_owned(), value.trim().to_owned()))
            })
            .collect(),
        Data::Scalar(_) => None,
    }
}
