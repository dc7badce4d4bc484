//! Both grammars of KubeInit's lists.

use casement_diag::Problem;

use super::problem;
use crate::import::ansible::tree::{self, Data, Node};

/// Names and values, in their order.
pub(super) type Pairs = Vec<(String, String)>;

const LIST: &str = "write `[[when_group=compute_nodes,os=windows]]` or `[{\"when_group\": \"compute_nodes\", \"os\": \"windows\"}]`";
const MAP: &str = "write `[network=10.0.0.0/24]` or `{\"network\": \"10.0.0.0/24\"}`";

/// A list of mappings.
pub(super) fn list(option: &str, text: &str) -> Result<Vec<Pairs>, Box<Problem>> {
    let wrong = |what: &str| problem(format!("`{option}` {what}"), ("it says", text), LIST);
    let root = root(option, text, LIST)?;
    let Data::List(items) = &root.data else {
        return Err(wrong("is no list"));
    };
    let pairs = items.iter().map(|item| {
        pairs(item).ok_or_else(|| wrong("has an item that is no `key=value` list and no mapping"))
    });
    pairs.collect()
}

/// One mapping.
pub(super) fn map(option: &str, text: &str) -> Result<Pairs, Box<Problem>> {
    let root = root(option, text, MAP)?;
    pairs(&root).ok_or_else(|| {
        problem(
            format!("`{option}` is no `key=value` list and no mapping"),
            ("it says", text),
            MAP,
        )
    })
}

fn root(option: &str, text: &str, remedy: &str) -> Result<Node, Box<Problem>> {
    match tree::parse(text) {
        Ok(Some(root)) => Ok(root),
        Ok(None) => Err(problem(
            format!("`{option}` is empty"),
            ("it says", text),
            remedy,
        )),
        Err(stop) => Err(problem(
            format!(
                "`{option}` is neither of KubeInit's grammars: {}",
                stop.message
            ),
            ("it says", text),
            remedy,
        )),
    }
}

fn pairs(node: &Node) -> Option<Pairs> {
    match &node.data {
        Data::Map(pairs) => pairs
            .iter()
            .map(|(key, value)| {
                let value = match &value.data {
                    Data::Scalar(value) => value.word()?,
                    Data::List(items) => {
                        let words = items.iter().map(|item| match &item.data {
                            Data::Scalar(value) => value.word(),
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
