//! Swap areas: listed in `/proc/swaps`, changed with `swapon` and `swapoff`.

use std::fs;
use std::io;

use casement_resource::{Code, Failure, HostPath, SwapArea};

use super::{Linux, system_failure};
use crate::platform::{Result, Swaps};

impl Swaps for Linux {
    fn swap_areas(&self) -> Result<Vec<SwapArea>> {
        match fs::read_to_string(self.root.path("proc/swaps")) {
            Ok(text) => text.lines().skip(1).map(area).collect(),
            // A kernel without swap.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(system_failure("failed to read `/proc/swaps`", &error)),
        }
    }

    fn swap_table(&self) -> Result<HostPath> {
        let path = self.root.path("etc/fstab");
        let path = path.to_string_lossy();
        path.parse().map_err(|error| {
            system_failure("the path of fstab is not valid", &io::Error::other(error))
        })
    }

    fn swap_off(&self, area: &SwapArea) -> Result<()> {
        let path = area.path.as_str();
        self.root.run_tool(&["swapoff", "--", path]).map(drop)
    }

    /// Negative priorities are assigned by the kernel and cannot be requested.
    fn swap_on(&self, area: &SwapArea) -> Result<()> {
        let priority = area.priority.to_string();
        let mut arguments = vec!["swapon"];
        if area.priority >= 0 {
            arguments.extend(["--priority", &priority]);
        }
        arguments.extend(["--", area.path.as_str()]);
        self.root.run_tool(&arguments).map(drop)
    }
}

/// A line of `/proc/swaps`: path, type, size, used, priority.
fn area(line: &str) -> Result<SwapArea> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let parse = || {
        let [path, _, _, _, priority] = fields.as_slice() else {
            return None;
        };
        Some(SwapArea {
            path: unescape(path).parse().ok()?,
            priority: priority.parse().ok()?,
        })
    };
    parse().ok_or_else(|| {
        Failure::new(
            Code::System,
            "a line of `/proc/swaps` cannot be parsed",
            "turn this swap area off manually",
        )
        .values("path, type, size, used, priority", line)
    })
}

/// The kernel writes space, tab, line break and `\` as `\` and three octal digits.
fn unescape(text: &str) -> String {
    let mut plain = text.to_owned();
    for (code, character) in [("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")] {
        plain = plain.replace(&format!("\\{code}"), character);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_line_is_parsed_and_invalid_line_is_reported() {
        let found = area("/var/swap\\040file  file\t\t524284\t\t0\t\t-2").unwrap();
        assert_eq!(found.path.as_str(), "/var/swap file");
        assert_eq!(found.priority, -2);
        let failure = area("/swap file").unwrap_err();
        assert_eq!(failure.found.as_deref(), Some("/swap file"));
    }
}
