//! Edits Wine's registry files while the host is off.
//!
//! Values that must exist before the first program of a boot runs (Windows version,
//! BootId) cannot be set through Wine, because that would start the services first.
//! The format is Wine's text format, version 2.

use std::fmt::Write;

#[derive(Debug)]
pub struct RegistryFile {
    lines: Vec<String>,
}

#[derive(Debug, Clone)]
pub enum Data {
    /// REG_SZ.
    Text(String),
    /// REG_DWORD.
    Number(u32),
}

impl RegistryFile {
    pub fn parse(text: &str) -> Self {
        Self {
            lines: text.lines().map(str::to_owned).collect(),
        }
    }

    /// Sets one value. The key is relative to the file's root, with single
    /// backslashes, and is created if it is missing.
    pub fn set(&mut self, key: &str, name: &str, data: &Data) {
        let new = format!("{}={}", quoted(name), format_value(data));
        let (start, end) = self.section(key);
        let prefix = format!("{}=", quoted(name)).to_lowercase();
        let position = self.lines[start..end]
            .iter()
            .position(|line| line.to_lowercase().starts_with(&prefix));
        match position {
            Some(offset) => {
                let first = start + offset;
                let last = self.end_of_value(first);
                self.lines.splice(first..last, [new]);
            }
            None => self.lines.insert(end, new),
        }
    }

    /// The value as in the file, for example `dword:00000007`.
    pub fn get(&self, key: &str, name: &str) -> Option<&str> {
        let start = self.header(key)?;
        let prefix = format!("{}=", quoted(name)).to_lowercase();
        self.lines[start + 1..]
            .iter()
            .take_while(|line| !line.starts_with('['))
            .find(|line| line.to_lowercase().starts_with(&prefix))
            .and_then(|line| line.get(prefix.len()..))
    }

    /// The line range of a key without its header; creates the key if missing.
    fn section(&mut self, key: &str) -> (usize, usize) {
        let header = self.header(key).unwrap_or_else(|| {
            self.lines.push(String::new());
            self.lines
                .push(format!("[{}] 0", key.replace('\\', "\\\\")));
            self.lines.len() - 1
        });
        let start = header + 1;
        let length = self.lines[start..]
            .iter()
            .take_while(|line| !line.is_empty() && !line.starts_with('['))
            .count();
        (start, start + length)
    }

    fn header(&self, key: &str) -> Option<usize> {
        let prefix = format!("[{}]", key.replace('\\', "\\\\")).to_lowercase();
        self.lines
            .iter()
            .position(|line| line.to_lowercase().starts_with(&prefix))
    }

    /// Lines of a long value end with a backslash.
    fn end_of_value(&self, first: usize) -> usize {
        let more = self.lines[first..]
            .iter()
            .take_while(|line| line.ends_with('\\'))
            .count();
        first + more + 1
    }
}

impl std::fmt::Display for RegistryFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for line in &self.lines {
            f.write_str(line)?;
            f.write_char('\n')?;
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn format_value(data: &Data) -> String {
    match data {
        Data::Text(text) => quoted(text),
        Data::Number(number) => format!("dword:{number:08x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "WINE REGISTRY Version 2\n\n[Software\\\\A] 17\n#time=1\n\"Long\"=hex:00,\\\n  01,\\\n  02\n\"Name\"=\"old\"\n\n[Software\\\\B] 18\n\"X\"=dword:00000001\n";

    #[test]
    fn set_replaces_values_case_insensitively() {
        let mut file = RegistryFile::parse(FILE);
        file.set(r"software\a", "name", &Data::Text(r"C:\k".into()));
        file.set(r"Software\B", "X", &Data::Number(255));
        assert_eq!(file.get(r"Software\A", "Name"), Some(r#""C:\\k""#));
        assert_eq!(file.get(r"Software\B", "X"), Some("dword:000000ff"));
        assert!(!file.to_string().contains("old"));
    }

    #[test]
    fn set_replaces_all_lines_of_a_long_value() {
        let mut file = RegistryFile::parse(FILE);
        file.set(r"Software\A", "Long", &Data::Number(1));
        let text = file.to_string();
        assert!(!text.contains("01,\\") && !text.contains("  02"), "{text}");
        assert!(text.contains("\"Name\"=\"old\""));
    }

    #[test]
    fn set_adds_missing_values_and_keys() {
        let mut file = RegistryFile::parse(FILE);
        file.set(r"Software\A", "New", &Data::Number(7));
        file.set(r"System\C", "New", &Data::Text("x".into()));
        let text = file.to_string();
        let position = |part: &str| text.find(part).unwrap();
        assert!(position("\"New\"=dword:00000007") < position("Software\\\\B"));
        assert!(text.ends_with("[System\\\\C] 0\n\"New\"=\"x\"\n"), "{text}");
    }
}
