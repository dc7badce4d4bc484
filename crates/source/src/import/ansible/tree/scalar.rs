//! Types of unquoted scalars in PyYAML (YAML 1.1): `no` is false, `010` is 8 and
//! `1:30` is 90.

use super::super::value::Value;

type Scalar = Result<Value, &'static str>;

/// An unquoted scalar.
pub(super) fn plain(text: &str) -> Scalar {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        "=" => return Err("`=` has a special meaning in YAML"),
        _ if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {
            Value::Text(text.to_owned())
        }
        _ => return number(text),
    })
}

/// A scalar of a JSON file.
pub(super) fn json(text: &str) -> Scalar {
    Ok(match text {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match (text.parse(), text.parse()) {
            (Ok(whole), _) => Value::Int(whole),
            (Err(_), Ok(number)) => Value::Float(number),
            _ => return Err("not valid JSON"),
        },
    })
}

fn number(text: &str) -> Scalar {
    if is_float(text) {
        return Ok(Value::Float(float(text)));
    }
    if let Some(whole) = integer(text) {
        return whole
            .map(Value::Int)
            .ok_or("the number has too many digits");
    }
    match is_time(text) {
        Some(true) => Ok(Value::Text(text.to_owned())),
        Some(false) => Err("it is a timestamp or an invalid date"),
        None => Ok(Value::Text(text.to_owned())),
    }
}

fn unsigned(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn digits(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '_')
}

fn fraction_digits(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || c == '_')
}

fn is_float(text: &str) -> bool {
    let (_, body) = unsigned(text);
    if matches!(body, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let Some((front, rest)) = body.split_once('.') else {
        return false;
    };
    if let Some((first, more)) = front.split_once(':') {
        return digits(first) && more.split(':').all(is_sexagesimal) && fraction_digits(rest);
    }
    let (rest, exponent) = match rest.find(['e', 'E']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    // An exponent requires a sign: `1.5e3` is a string.
    let exponent = exponent.is_empty()
        || exponent.get(1..).is_some_and(|exponent| {
            let number = exponent.strip_prefix(['+', '-']);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        });
    let mantissa = match front {
        "" => text.starts_with('.') && digits(rest),
        _ => digits(front) && fraction_digits(rest),
    };
    mantissa && exponent
}

fn float(text: &str) -> f64 {
    let text = text.replace('_', "").to_lowercase();
    let (negative, body) = unsigned(&text);
    let value = match body {
        ".inf" => f64::INFINITY,
        ".nan" => f64::NAN,
        _ => body.split(':').fold(0.0, |sum, part| {
            sum * 60.0 + part.parse::<f64>().unwrap_or_default()
        }),
    };
    if negative { -value } else { value }
}

/// One or two digits, below 60.
fn is_sexagesimal(text: &str) -> bool {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        && (text.len() == 1
            || (text.len() == 2 && text.starts_with(['0', '1', '2', '3', '4', '5'])))
}

/// An integer; `Some(None)` if it is too large.
fn integer(text: &str) -> Option<Option<i128>> {
    let (negative, body) = unsigned(text);
    let sign = |number: i128| if negative { -number } else { number };
    let plain = body.replace('_', "");
    let radix = |prefix: &str, radix: u32| {
        let digits = body.strip_prefix(prefix)?;
        let fits = |c: char| c == '_' || c.is_digit(radix);
        (!digits.is_empty() && digits.chars().all(fits)).then_some(())?;
        let digits = plain
            .get(prefix.len()..)
            .filter(|digits| !digits.is_empty());
        Some(digits.and_then(|digits| i128::from_str_radix(digits, radix).ok()))
    };
    if plain == "0" && body.starts_with('0') {
        return Some(Some(0));
    }
    if let Some(number) = radix("0b", 2)
        .or_else(|| radix("0x", 16))
        .or_else(|| radix("0", 8))
    {
        return Some(number.map(sign));
    }
    let mut parts = body.split(':');
    let first = parts
        .next()
        .filter(|first| digits(first) && !first.starts_with('0'))?;
    parts.clone().all(is_sexagesimal).then_some(())?;
    let mut number: Option<i128> = first.replace('_', "").parse().ok();
    for part in parts {
        let part: i128 = part.parse().ok()?;
        number = number.and_then(|number| number.checked_mul(60)?.checked_add(part));
    }
    Some(number.map(sign))
}

/// `true` for a valid date without a time, which stays a string; `false` for a
/// timestamp or an invalid date; `None` otherwise.
fn is_time(text: &str) -> Option<bool> {
    let number = |text: &str, lengths: &[usize]| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        (digits && lengths.contains(&text.len())).then(|| text.parse::<u32>().ok())?
    };
    let (year, rest) = text.split_once('-')?;
    let (month, rest) = rest.split_once('-')?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (day, time) = rest.split_at(end);
    let year = number(year, &[4])?;
    if !time.is_empty() {
        number(month, &[1, 2])?;
        number(day, &[1, 2])?;
        return time.starts_with(['T', 't', ' ', '\t']).then_some(false);
    }
    let (month, day) = (number(month, &[2])?, number(day, &[2])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    Some(year > 0 && (1..=12).contains(&month) && (1..=last).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_match_yaml_1_1() {
        for (text, number) in [
            ("5", 5),
            ("-5", -5),
            ("010", 8),
            ("0x1f", 31),
            ("0b11", 3),
            ("1_000", 1000),
            ("1:30", 90),
            ("0", 0),
            ("+7", 7),
            ("52:54:00", 190_440),
        ] {
            assert_eq!(plain(text), Ok(Value::Int(number)), "{text}");
        }
        for (text, number) in [
            ("1.5", 1.5),
            ("1.", 1.0),
            ("1.5e+3", 1500.0),
            (".5", 0.5),
            ("1:30.5", 90.5),
        ] {
            assert_eq!(plain(text), Ok(Value::Float(number)), "{text}");
        }
        for text in [
            "08",
            "0o17",
            "1e5",
            "1.5e3",
            "10.0.0.1",
            "v1",
            "-.5",
            "1.2.3",
            "-",
            "+",
            ".",
            "y",
            "n",
            "2020-1-1",
            "2020-01-31",
            "10.0.0.0/16",
            "1:99",
            "0:30",
        ] {
            assert_eq!(plain(text), Ok(Value::Text(text.to_owned())), "{text}");
        }
        assert_eq!(plain("no"), Ok(Value::Bool(false)));
        assert_eq!(plain("~"), Ok(Value::Null));
        for text in ["2020-01-32", "2020-01-01T10:00:00", "=", "0x_"] {
            assert!(plain(text).is_err(), "{text}");
        }
    }
}
