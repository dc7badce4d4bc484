//! Values in INI inventories, evaluated like Python's `ast.literal_eval`.
//!
//! Ansible evaluates all values of host lines and `:vars` sections, and keeps the
//! string if that fails. So `1,2` is a list, `0644` is a string, `"C:\new"` contains
//! a line break, and `5 # five` is 5.

mod number;
mod string;

use super::value::Value;

const MAX_DEPTH: usize = 50;
const TOO_DEEP: &str = "it is nested too deeply";

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Value(Value),
    /// A plain string.
    PlainText,
    /// A Python value that is not supported, with the reason.
    Unsupported(&'static str),
}

pub(super) fn evaluate(text: &str) -> Literal {
    let mut parser = Parser {
        rest: text.trim_start_matches([' ', '\t']),
        depth: 0,
        unsupported: None,
    };
    match (parser.whole(), parser.unsupported) {
        (None, Some(TOO_DEEP)) => Literal::Unsupported(TOO_DEEP),
        (None, _) => Literal::PlainText,
        (Some(_), Some(reason)) => Literal::Unsupported(reason),
        (Some(value), None) => Literal::Value(value),
    }
}

struct Expression {
    value: Value,
    /// A number without a sign: only those may get one.
    number: bool,
    /// Usable as a dictionary key.
    hashable: bool,
}

impl Expression {
    fn of(value: Value) -> Self {
        let hashable = !matches!(value, Value::List(_) | Value::Map(_));
        Self {
            value,
            number: false,
            hashable,
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
    unsupported: Option<&'static str>,
}

impl Parser<'_> {
    fn whole(&mut self) -> Option<Value> {
        let mut items = vec![self.expression()?.value];
        let mut tuple = false;
        while self.take(',') {
            tuple = true;
            if self.at_end() {
                break;
            }
            items.push(self.expression()?.value);
        }
        if !self.at_end() {
            return None;
        }
        match tuple {
            true => Some(Value::List(items)),
            false => items.pop(),
        }
    }

    fn reject(&mut self, reason: &'static str) {
        self.unsupported.get_or_insert(reason);
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        if self.rest.starts_with('#') {
            self.rest = "";
        }
    }

    fn at_end(&mut self) -> bool {
        self.skip();
        self.rest.is_empty()
    }

    fn take(&mut self, sign: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(sign) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    fn expression(&mut self) -> Option<Expression> {
        let left = self.signed()?;
        self.skip();
        if self.rest.starts_with(['+', '-']) {
            // A complex number is the only sum that is a literal.
            self.rest = self.rest.get(1..)?;
            let right = self.primary()?;
            let complex = self.unsupported == Some(number::COMPLEX) && right.number;
            return complex.then_some(left);
        }
        Some(left)
    }

    fn signed(&mut self) -> Option<Expression> {
        let negative = self.take('-');
        if !negative && !self.take('+') {
            return self.primary();
        }
        let operand = self.primary().filter(|operand| operand.number)?;
        Some(Expression::of(match operand.value {
            Value::Int(number) if negative => Value::Int(-number),
            Value::Float(number) if negative => Value::Float(-number),
            value => value,
        }))
    }

    fn primary(&mut self) -> Option<Expression> {
        self.skip();
        let first = self.rest.chars().next()?;
        let second = self.rest.chars().nth(1);
        match first {
            '[' | '(' | '{' => self.nested(first),
            '0'..='9' => self.number(),
            '.' if second.is_some_and(|c| c.is_ascii_digit()) => self.number(),
            '.' => {
                self.rest = self.rest.strip_prefix("...")?;
                Some(Expression::of(Value::Text("...".to_owned())))
            }
            '\'' | '"' => self.strings(),
            _ if string::starts_string(self.rest) => self.strings(),
            _ => self.name(),
        }
    }

    fn name(&mut self) -> Option<Expression> {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !word(c)).unwrap_or(self.rest.len());
        let (name, after) = self.rest.split_at(end);
        self.rest = after;
        Some(Expression::of(match name {
            "None" => Value::Null,
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "set" if self.take('(') && self.take(')') => Value::List(Vec::new()),
            _ => return None,
        }))
    }

    fn nested(&mut self, open: char) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.unsupported = Some(TOO_DEEP);
            return None;
        }
        self.rest = self.rest.get(1..)?;
        let expression = match open {
            '[' => self.items(']').map(|(items, _)| list(items)),
            '(' => self.parenthesis(),
            _ => self.braces(),
        };
        self.depth -= 1;
        expression
    }

    fn parenthesis(&mut self) -> Option<Expression> {
        let (mut items, comma) = self.items(')')?;
        if comma || items.is_empty() {
            let hashable = items.iter().all(|item| item.hashable);
            let tuple = list(items);
            return Some(Expression { hashable, ..tuple });
        }
        items.pop()
    }

    /// Items up to a closing bracket, and whether there is a comma.
    fn items(&mut self, close: char) -> Option<(Vec<Expression>, bool)> {
        let (mut items, mut comma) = (Vec::new(), false);
        loop {
            if self.take(close) {
                return Some((items, comma));
            }
            items.push(self.expression()?);
            if self.take(',') {
                comma = true;
            } else {
                return self.take(close).then_some((items, comma));
            }
        }
    }

    fn braces(&mut self) -> Option<Expression> {
        if self.take('}') {
            return Some(Expression::of(Value::Map(Vec::new())));
        }
        let first = self.expression()?;
        if !self.take(':') {
            return self.set(first);
        }
        let mut pairs = Vec::new();
        let mut key = first;
        loop {
            let value = self.expression()?.value;
            match key.value {
                Value::Text(text) => Value::insert(&mut pairs, text, value),
                Value::Int(number) => Value::insert(&mut pairs, number.to_string(), value),
                _ => self.reject("it has a key that is neither a string nor an integer"),
            }
            let comma = self.take(',');
            if self.take('}') {
                return Some(Expression::of(Value::Map(pairs)));
            }
            if !comma {
                return None;
            }
            key = self.expression()?;
            if !self.take(':') {
                return None;
            }
        }
    }

    fn set(&mut self, first: Expression) -> Option<Expression> {
        let mut items = vec![first];
        if self.take(',') {
            items.extend(self.items('}')?.0);
        } else if !self.take('}') {
            return None;
        }
        if items.len() > 1 {
            self.reject("a set has no order; use a list");
        }
        if items.iter().any(|item| !item.hashable) {
            self.reject("a set cannot contain a list or a mapping");
        }
        Some(list(items))
    }
}

fn list(items: Vec<Expression>) -> Expression {
    Expression::of(Value::List(
        items.into_iter().map(|item| item.value).collect(),
    ))
}

#[cfg(test)]
mod tests;
