//! Host patterns: `web[01:20:2].shop.example:2222` and the like.

mod address;

use super::python;

/// The characters that letter ranges run through, in their order.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A pattern that names no hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadPattern {
    #[error("a range is written `[begin:end]` or `[begin:end:step]`")]
    Bounds,
    #[error("a range lacks its end")]
    NoEnd,
    #[error("begin and end of a range with leading zeros must have the same length")]
    Lengths,
    #[error("a range of letters must not run backwards")]
    Backwards,
    #[error("a range runs between two numbers or two letters, in steps other than 0")]
    NoNumbers,
    #[error("it ends with `:`, and no port follows")]
    NoPort,
    #[error("`---` begins a YAML file, not a host")]
    Yaml,
    #[error("it names no host")]
    Empty,
    #[error("it names more than {0} hosts")]
    TooMany(usize),
}

/// The hosts that a pattern names, and the port that goes with all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) hosts: Vec<String>,
    pub(super) port: Option<i128>,
}

/// Expands a pattern; `most` is how many hosts there may be.
pub(super) fn expand(pattern: &str, most: usize) -> Result<Named, BadPattern> {
    let (name, port) = match address::split(pattern) {
        Some((name, port)) => (name, port),
        None => (pattern, None),
    };
    let mut hosts = Vec::new();
    if name.contains('[') {
        ranges(name, most, &mut hosts)?;
    } else {
        hosts.push(name.to_owned());
    }
    if hosts.iter().any(String::is_empty) {
        return Err(BadPattern::Empty);
    }
    Ok(Named { hosts, port })
}

/// The same with what only INI inventories refuse.
pub(super) fn expand_in_ini(pattern: &str, most: usize) -> Result<Named, BadPattern> {
    let named = expand(pattern, most)?;
    if python::strip(pattern).ends_with(':') && named.port.is_none() {
        return Err(BadPattern::NoPort);
    }
    if named.hosts.iter().any(|host| python::strip(host) == "---") {
        return Err(BadPattern::Yaml);
    }
    Ok(named)
}

/// Puts in place of the first range each of its values, then the same again.
fn ranges(name: &str, most: usize, hosts: &mut Vec<String>) -> Result<(), BadPattern> {
    let split = name.replacen('[', "|", 1).replacen(']', "|", 1);
    let parts: Vec<_> = split.split('|').collect();
    let &[head, range, tail] = parts.as_slice() else {
        return Err(BadPattern::Bounds);
    };
    for value in Range::new(range)?.values(most)? {
        let host = format!("{head}{value}{tail}");
        if host.contains('[') {
            ranges(&host, most, hosts)?;
        } else {
            hosts.push(host);
        }
        if hosts.len() > most {
            return Err(BadPattern::TooMany(most));
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

    fn values(&self, most: usize) -> Result<Vec<String>, BadPattern> {
        let length = self.begin.chars().count();
        let zeros = length > 1 && self.begin.starts_with('0');
        if zeros && self.end.chars().count() != length {
            return Err(BadPattern::Lengths);
        }
        let step = python::int(self.step).filter(|step| *step != 0);
        let step = step.ok_or(BadPattern::NoNumbers)?;
        // As Ansible looks them up: several letters count by where they begin.
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
            if values.len() == most {
                return Err(BadPattern::TooMany(most));
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
    fn ranges_count_letters_and_numbers_in_steps() {
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
    fn a_port_belongs_to_all_hosts_of_a_pattern() {
        let named = expand("win[1:2]:5986", 10).unwrap();
        assert_eq!(named.hosts, ["win1", "win2"]);
        assert_eq!(named.port, Some(5986));
        let named = expand("[2001:db8::1]:22", 10).unwrap();
        assert_eq!(
            (named.hosts, named.port),
            (vec!["2001:db8::1".to_owned()], Some(22))
        );
        assert_eq!(expand("2001:db8::1", 10).unwrap().port, None);
    }

    #[test]
    fn what_is_no_range_is_refused() {
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
