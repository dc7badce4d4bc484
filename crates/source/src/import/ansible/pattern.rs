//! Host patterns such as `web[01:20:2].shop.example:2222`.

mod address;

use super::python;

/// The order of letters in ranges.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadPattern {
    #[error("a range must be `[begin:end]` or `[begin:end:step]`")]
    Bounds,
    #[error("a range has no end")]
    NoEnd,
    #[error("with leading zeros, the bounds of a range must have the same length")]
    Lengths,
    #[error("a range of letters must be ascending")]
    Backwards,
    #[error("the bounds of a range must be two numbers or two letters, and the step must not be 0")]
    NoNumbers,
    #[error("there is no port after `:`")]
    NoPort,
    #[error("`---` starts a YAML file")]
    Yaml,
    #[error("it is empty")]
    Empty,
    #[error("it expands to more than {0} hosts")]
    TooMany(usize),
}

/// The hosts of a pattern and their common port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpandedHosts {
    pub(super) hosts: Vec<String>,
    pub(super) port: Option<i128>,
}

/// Expands a pattern to at most `max` hosts.
pub(super) fn expand(pattern: &str, max: usize) -> Result<ExpandedHosts, BadPattern> {
    let (name, port) = match address::split(pattern) {
        Some((name, port)) => (name, port),
        None => (pattern, None),
    };
    let mut hosts = Vec::new();
    if name.contains('[') {
        ranges(name, max, &mut hosts)?;
    } else {
        hosts.push(name.to_owned());
    }
    if hosts.iter().any(String::is_empty) {
        return Err(BadPattern::Empty);
    }
    Ok(ExpandedHosts { hosts, port })
}

/// Like [`expand`], with the additional checks of INI inventories.
pub(super) fn expand_in_ini(pattern: &str, max: usize) -> Result<ExpandedHosts, BadPattern> {
    let expanded = expand(pattern, max)?;
    if python::strip(pattern).ends_with(':') && expanded.port.is_none() {
        return Err(BadPattern::NoPort);
    }
    if expanded
        .hosts
        .iter()
        .any(|host| python::strip(host) == "---")
    {
        return Err(BadPattern::Yaml);
    }
    Ok(expanded)
}

/// Expands the first range, then the others recursively.
fn ranges(name: &str, max: usize, hosts: &mut Vec<String>) -> Result<(), BadPattern> {
    let split = name.replacen('[', "|", 1).replacen(']', "|", 1);
    let parts: Vec<_> = split.split('|').collect();
    let &[head, range, tail] = parts.as_slice() else {
        return Err(BadPattern::Bounds);
    };
    for value in Range::new(range)?.values(max)? {
        let host = format!("{head}{value}{tail}");
        if host.contains('[') {
            ranges(&host, max, hosts)?;
        } else {
            hosts.push(host);
        }
        if hosts.len() > max {
            return Err(BadPattern::TooMany(max));
        }
    }
    Ok(())
}

struct Range<'a> {
    begin: &'a str,
    end: &'a str,
    step: &'a str,
}

impl<'a> Range<'a> {
    fn new(text: &'a str) -> Result<Self, BadPattern> {
        let bounds: Vec<_> = text.split(':').collect();
        let (begin, end, step) = match bounds.as_slice() {
            [begin, end] => (*begin, *end, "1"),
            [begin, end, step] => (*begin, *end, *step),
            _ => return Err(BadPattern::Bounds),
        };
        if end.is_empty() {
            return Err(BadPattern::NoEnd);
        }
        let begin = if begin.is_empty() { "0" } else { begin };
        Ok(Self { begin, end, step })
    }

    fn values(&self, max: usize) -> Result<Vec<String>, BadPattern> {
        let length = self.begin.chars().count();
        let zeros = length > 1 && self.begin.starts_with('0');
        if zeros && self.end.chars().count() != length {
            return Err(BadPattern::Lengths);
        }
        let step = python::int(self.step).filter(|step| *step != 0);
        let step = step.ok_or(BadPattern::NoNumbers)?;
        // Like Ansible: a substring such as `bc` counts as its first letter.
        if let (Some(begin), Some(end)) = (LETTERS.find(self.begin), LETTERS.find(self.end)) {
            if begin > end {
                return Err(BadPattern::Backwards);
            }
            let letters = LETTERS.get(begin..=end).unwrap_or_default().chars();
            return Ok(match usize::try_from(step) {
                Ok(step) => letters.step_by(step).map(String::from).collect(),
                Err(_) => Vec::new(),
            });
        }
        let number = |text| python::int(text).ok_or(BadPattern::NoNumbers);
        let (begin, end) = (number(self.begin)?, number(self.end)?);
        let width = if zeros { length } else { 0 };
        let mut values = Vec::new();
        let mut next = Some(begin);
        while let Some(value) = next.filter(|value| match step {
            1.. => *value <= end,
            _ => *value > end + 1,
        }) {
            if values.len() == max {
                return Err(BadPattern::TooMany(max));
            }
            values.push(format!("{value:0width$}"));
            next = value.checked_add(step);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(pattern: &str) -> Vec<String> {
        expand(pattern, 100).unwrap().hosts
    }

    #[test]
    fn ranges_of_letters_and_numbers_expand() {
        assert_eq!(hosts("win[01:03]"), ["win01", "win02", "win03"]);
        assert_eq!(hosts("w[1:10:4].x"), ["w1.x", "w5.x", "w9.x"]);
        assert_eq!(hosts("db-[a:e:2]"), ["db-a", "db-c", "db-e"]);
        assert_eq!(hosts("r[1:2]n[a:b]"), ["r1na", "r1nb", "r2na", "r2nb"]);
        assert_eq!(hosts("x[:2]"), ["x0", "x1", "x2"]);
        assert_eq!(
            hosts("10.0.0.[9:11]"),
            ["10.0.0.9", "10.0.0.10", "10.0.0.11"]
        );
        assert_eq!(hosts("x[y:B]"), ["xy", "xz", "xA", "xB"]);
        assert!(hosts("x[3:1]").is_empty());
    }

    #[test]
    fn port_applies_to_all_hosts_of_a_pattern() {
        let expanded = expand("win[1:2]:5986", 10).unwrap();
        assert_eq!(expanded.hosts, ["win1", "win2"]);
        assert_eq!(expanded.port, Some(5986));
        let expanded = expand("[2001:db8::1]:22", 10).unwrap();
        assert_eq!(
            (expanded.hosts, expanded.port),
            (vec!["2001:db8::1".to_owned()], Some(22))
        );
        assert_eq!(expand("2001:db8::1", 10).unwrap().port, None);
    }

    #[test]
    fn invalid_ranges_are_rejected() {
        let error = |pattern| expand_in_ini(pattern, 10).unwrap_err();
        assert_eq!(error("a[1]"), BadPattern::Bounds);
        assert_eq!(error("a[1:]"), BadPattern::NoEnd);
        assert_eq!(error("a[01:100]"), BadPattern::Lengths);
        assert_eq!(error("a[c:a]"), BadPattern::Backwards);
        assert_eq!(error("a[1:5:0]"), BadPattern::NoNumbers);
        assert_eq!(error("a[1:x]"), BadPattern::NoNumbers);
        assert_eq!(error("all:"), BadPattern::NoPort);
        assert_eq!(error("---"), BadPattern::Yaml);
        assert_eq!(error("a[1:999999999999]"), BadPattern::TooMany(10));
        assert_eq!(error("a[1:9][1:9]"), BadPattern::TooMany(10));
    }
}
