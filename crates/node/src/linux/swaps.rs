//! Swap: what `/proc/swaps` lists, switched by `swapon` and `swapoff`.

use std::fs;
use std::io;

use casement_resource::{Code, Failure, HostPath, SwapArea};

use super::{Linux, system_failure};
use crate::platform::{Result, Swaps};

impl Swaps for Linux {
    fn swap_areas(&self) -> Result<Vec<SwapArea>> {
        match fs::read_to_string(self.ground.path("proc/swaps")) {
            Ok(text) => text.lines().skip(1).map(area).collect(),
            // A kernel without swap.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(system_failure("`/proc/swaps` could not be read", &error)),
        }
    }

    fn swap_table(&self) -> Result<HostPath> {
        let path = self.ground.path("etc/fstab");
        let path = path.to_string_lossy();
        path.parse()
            .map_err(|error| system_failure("fstab has no path", &io::Error::other(error)))
    }

    fn swap_off(&self, area: &SwapArea) -> Result<()> {
        let path = area.path.as_str();
        self.ground.tool(&["swapoff", "--", path]).map(drop)
    }

    /// A priority below zero is the kernel's own choice, and cannot be asked for.
    fn swap_on(&self, area: &SwapArea) -> Result<()> {
        let priority = area.priority.to_string();
        let mut arguments = vec!["swapon"];
        if area.priority >= 0 {
            arguments.extend(["--priority", &priority]);
        }
        arguments.extend(["--", area.path.as_str()]);
        self.ground.tool(&arguments).map(drop)
    }
}

/// A line of `/proc/swaps`: path, type, size, used, priority.
fn area(line: &str) -> Result<SwapArea> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let read = || {
        let [path, _, _, _, priority] = words.as_slice() else {
            return None;
        };
        Some(SwapArea {
            path: unescaped(path).parse().ok()?,
            priority: priority.parse().ok()?,
        })
    };
    read().ok_or_else(|| {
        Failure::new(
            Code::System,
            "a line of `/proc/swaps` is not understood",
            "switch this swap area off by hand",
        )
        .values("path, type, size, used, priority", line)
    })
}

/// The kernel writes space, tab, line break and `\` as `\` and three octal digits.
fn unescaped(text: &str) -> String {
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
    fn a_line_of_the_kernel_is_understood_or_named() {
        let found = area("/var/swap\\040file  file\t\t524284\t\t0\t\t-2").unwrap();
        assert_eq!(found.path.as_str(), "/var/swap file");
        assert_eq!(found.priority, -2);
        let failure = area("/swap file").unwrap_err();
        assert_eq!(failure.found.as_deref(), Some("/swap file"));
    }
}
