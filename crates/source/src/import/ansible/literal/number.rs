//! Python numbers.

use super::super::python::plain_digits;
use super::{Expression, Parser};
use crate::import::ansible::value::Value;

pub(super) const COMPLEX: &str = "it is a complex number; put it in quotes";

impl Parser<'_> {
    pub(super) fn number(&mut self) -> Option<Expression> {
        let (text, after) = self.rest.split_at(length(self.rest));
        let imaginary = after.starts_with(['j', 'J']);
        let after = after.strip_prefix(['j', 'J']).unwrap_or(after);
        if after.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        self.rest = after;
        let value = if imaginary {
            is_decimal(text).then_some(())?;
            self.reject(COMPLEX);
            Value::Null
        } else if let Some(number) = integer(text)? {
            Value::Int(number)
        } else if is_float(text) {
            Value::Float(text.replace('_', "").parse().ok()?)
        } else {
            self.reject("the number has too many digits");
            Value::Null
        };
        Some(Expression {
            number: true,
            ..Expression::of(value)
        })
    }
}

/// Length of a number: digits of its base, one dot, an exponent.
fn length(text: &str) -> usize {
    let prefixed = ["0x", "0X", "0o", "0O", "0b", "0B"];
    if prefixed.iter().any(|prefix| text.starts_with(prefix)) {
        let body = text.get(2..).unwrap_or_default();
        let end = |c: char| !(c.is_ascii_hexdigit() || c == '_');
        return 2 + body.find(end).unwrap_or(body.len());
    }
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        let end = |c: char| !(c.is_ascii_digit() || c == '_');
        from + rest.find(end).unwrap_or(rest.len())
    };
    let starts =
        |at: usize, signs: &[char]| text.get(at..).is_some_and(|rest| rest.starts_with(signs));
    let mut end = digits(0);
    if starts(end, &['.']) {
        end = digits(end + 1);
    }
    if starts(end, &['e', 'E']) {
        let sign = usize::from(starts(end + 1, &['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// An integer: `None` if it is not a number, `Some(None)` if it is a float or too
/// large.
fn integer(text: &str) -> Option<Option<i128>> {
    let lower = text.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = lower.strip_prefix(prefix) {
            let digits = digits.strip_prefix('_').unwrap_or(digits);
            let digits = plain_digits(digits, radix)?;
            return Some(i128::from_str_radix(&digits, radix).ok());
        }
    }
    if lower.contains(['.', 'e']) {
        return is_float(text).then_some(None);
    }
    let digits = plain_digits(text, 10)?;
    // `0644` was octal in Python 2 and is invalid now.
    let leading_zero = digits.starts_with('0') && digits.contains(|c| c != '0');
    (!leading_zero).then(|| digits.parse().ok())
}

fn is_float(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let (mantissa, exponent) = match lower.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (lower.as_str(), None),
    };
    let part = |digits: &str| digits.is_empty() || plain_digits(digits, 10).is_some();
    let mantissa = match mantissa.split_once('.') {
        Some((front, back)) => part(front) && part(back) && mantissa.len() > 1,
        None => exponent.is_some() && plain_digits(mantissa, 10).is_some(),
    };
    let exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        plain_digits(digits, 10).is_some()
    });
    mantissa && exponent
}

fn is_decimal(text: &str) -> bool {
    is_float(text) || plain_digits(text, 10).is_some()
}
