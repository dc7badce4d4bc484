//! Splits a pattern into host and port.
//!
//! Ansible uses regular expressions that allow ranges everywhere. Patterns that do
//! not match are host names as a whole, including the port.

/// Host and port; `None` if Ansible recognizes neither name nor address.
pub(super) fn split(pattern: &str) -> Option<(&str, Option<i128>)> {
    let mut host = pattern;
    let mut port = None;
    if let Some((inner, number)) = bracketed(host) {
        (host, port) = (inner, Some(number));
    }
    if let Some((front, number)) = with_port(host) {
        (host, port) = (front, Some(number));
    }
    (is_ipv6(host) || is_name(host)).then_some((host, port))
}

/// `[host]:port`.
fn bracketed(text: &str) -> Option<(&str, i128)> {
    let (inner, port) = text.strip_prefix('[')?.rsplit_once("]:")?;
    (!inner.is_empty()).then_some(())?;
    Some((inner, number(port)?))
}

/// `host:port`, ignoring colons inside brackets.
fn with_port(text: &str) -> Option<(&str, i128)> {
    let (host, port) = text.rsplit_once(':')?;
    let port = number(port)?;
    let mut rest = host;
    while let Some(at) = rest.find([':', '[', ']']) {
        let (_, bracket) = rest.split_at(at);
        let (_, after) = bracket.strip_prefix('[')?.split_once(']')?;
        rest = after;
    }
    Some((host, port))
}

fn number(text: &str) -> Option<i128> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// DNS labels separated by dots.
fn is_name(text: &str) -> bool {
    let mut rest = text;
    loop {
        let Some(after) = label(rest) else {
            return false;
        };
        match after.strip_prefix('.') {
            Some(more) => rest = more,
            None => return after.is_empty(),
        }
    }
}

/// The rest after a label of letters, digits and ranges that does not end with `-`
/// or `_`.
fn label(text: &str) -> Option<&str> {
    let mut rest = text;
    let mut last = None;
    while let Some(c) = rest.chars().next() {
        if c == '[' {
            rest = range(rest, |bounds| one_letter(bounds) || decimal(bounds))?;
        } else if c.is_alphanumeric() || c == '_' || (c == '-' && last.is_some()) {
            rest = rest.get(c.len_utf8()..)?;
        } else {
            break;
        }
        last = Some(c);
    }
    last.filter(|c| !matches!(c, '-' | '_')).map(|_| rest)
}

/// The rest after a range with valid bounds.
fn range(text: &str, fits: impl Fn((&str, &str)) -> bool) -> Option<&str> {
    let (inner, after) = text.strip_prefix('[')?.split_once(']')?;
    let (begin, rest) = inner.split_once(':')?;
    let (end, step) = match rest.split_once(':') {
        Some((end, step)) => (end, Some(step)),
        None => (rest, None),
    };
    let step = step.is_none_or(|step| number(step).is_some());
    (fits((begin, end)) && step).then_some(after)
}

fn one_letter((begin, end): (&str, &str)) -> bool {
    let letter = |text: &str| text.len() == 1 && text.bytes().all(|b| b.is_ascii_alphabetic());
    letter(begin) && letter(end)
}

fn decimal((begin, end): (&str, &str)) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(begin) && digits(end)
}

fn hexadecimal((begin, end): (&str, &str)) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    digits(begin) && digits(end)
}

/// Any part may be a range.
fn is_ipv6(text: &str) -> bool {
    let (front, tail) = match text.find('.') {
        // The last part is an IPv4 address.
        Some(_) => match text.rsplit_once(':') {
            Some((front, tail)) => (front, Some(tail)),
            None => return false,
        },
        None => (text, None),
    };
    if let Some(tail) = tail {
        let prefix = front.to_ascii_lowercase();
        let mixed = ["0:0:0:0:0:0", ":", "::ffff", "0:0:0:0:0:ffff"];
        return mixed.contains(&prefix.as_str()) && parts(tail, '.') == Some(4);
    }
    match text.split_once("::") {
        Some(("", "")) => true,
        Some(("", right)) => parts(right, ':').is_some_and(|right| right <= 6),
        Some((left, "")) => parts(left, ':').is_some_and(|left| left <= 6),
        Some((left, right)) => match (parts(left, ':'), parts(right, ':')) {
            (Some(left), Some(right)) => left <= 6 && left + right <= 7,
            _ => false,
        },
        None => parts(text, ':') == Some(8),
    }
}

/// The number of hexadecimal parts; `None` if one is invalid.
fn parts(text: &str, separator: char) -> Option<usize> {
    let mut rest = text;
    let mut count = 0;
    loop {
        let after = if rest.starts_with('[') {
            range(rest, hexadecimal)?
        } else {
            let length = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
            (1..=4).contains(&length).then_some(())?;
            rest.get(length..)?
        };
        count += 1;
        match after.strip_prefix(separator) {
            Some(more) => rest = more,
            None => return after.is_empty().then_some(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_recognized() {
        for host in ["a", "a-b.c_d", "_a", "10.0.0.[1:5]", "w[a:f:2]x", "ß1"] {
            assert_eq!(split(host), Some((host, None)), "{host}");
        }
        for host in [
            "::1",
            "::",
            "1:2:3:4:5:6:7:8",
            "fe80::[1:ff]",
            "::ffff:10.0.0.1",
        ] {
            assert_eq!(split(host), Some((host, None)), "{host}");
        }
        for host in [
            "", "a_", "-a", "a..b", "a[1:]", "a/b", "a b", "a:b", "1::2::3",
        ] {
            assert_eq!(split(host), None, "{host}");
        }
    }

    #[test]
    fn ports_are_split_off() {
        assert_eq!(split("a:22"), Some(("a", Some(22))));
        assert_eq!(split("a[1:3]:22"), Some(("a[1:3]", Some(22))));
        assert_eq!(split("[a]:22"), Some(("a", Some(22))));
        assert_eq!(split("[::1]:22"), Some(("::1", Some(22))));
        // Surprising, but Ansible does the same.
        assert_eq!(split("[1:3]:22"), Some(("1", Some(3))));
    }
}
