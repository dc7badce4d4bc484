//! Edits Wine's registry files while their host is off.
//!
//! Values that must be there before the first program of a boot runs (who this
//! Windows is, which boot it is) cannot be set through Wine: asking it would
//! start the services first. The format is Wine's text form, version 2.

use std::fmt::Write;

/// A registry file in memory.
#[derive(Debug)]
pub struct RegistryFile {
    lines: Vec<String>,
}

/// A value to set.
#[derive(Debug, Clone)]
pub enum Data {
    /// REG_SZ.
    Text(String),
    /// REG_DWORD.
    Number(u32),
}

impl RegistryFile {
    /// Takes a file's text apart.
    pub fn parse(text: &str) -> Self {
        Self {
            lines: text.lines().map(str::to_owned).collect(),
        }
    }

    /// Sets one value of a key (path relative to the file's root, with single
    /// backslashes); makes the key where it is missing.
    pub fn set(&mut self, key: &str, name: &str, data: &Data) {
        let new = format!("{}={}", quoted(name), written(data));
        let (start, end) = self.section(key);
        let lead = format!("{}=", quoted(name)).to_lowercase();
        let place = self.lines[start..end]
            .iter()
            .position(|line| line.to_lowercase().starts_with(&lead));
        match place {
            Some(offset) => {
                let first = start + offset;
                let last = self.end_of_value(first);
                self.lines.splice(first..last, [new]);
            }
            None => self.lines.insert(end, new),
        }
    }

    /// A value as it is written, for example `dword:00000007`.
    pub fn get(&self, key: &str, name: &str) -> Option<&str> {
        let start = self.header(key)?;
        let lead = format!("{}=", quoted(name)).to_lowercase();
        self.lines[start + 1..]
            .iter()
            .take_while(|line| !line.starts_with('['))
            .find(|line| line.to_lowercase().starts_with(&lead))
            .and_then(|line| line.get(lead.len()..))
    }

    /// The lines between a key's header and the blank line after it.
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
        let lead = format!("[{}]", key.replace('\\', "\\\\")).to_lowercase();
        self.lines
            .iter()
            .position(|line| line.to_lowercase().starts_with(&lead))
    }

    /// Long values go on over lines that end with a backslash.
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

fn written(data: &Data) -> String {
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
    fn replaces_a_value_in_its_key_whatever_the_case() {
        let mut file = RegistryFile::parse(FILE);
        file.set(r"software\a", "name", &Data::Text(r"C:\k".into()));
        file.set(r"Software\B", "X", &Data::Number(255));
        assert_eq!(file.get(r"Software\A", "Name"), Some(r#""C:\\k""#));
        assert_eq!(file.get(r"Software\B", "X"), Some("dword:000000ff"));
        assert!(!file.to_string().contains("old"));
    }

    #[test]
    fn replaces_all_lines_of_a_long_value() {
        let mut file = RegistryFile::parse(FILE);
        file.set(r"Software\A", "Long", &Data::Number(1));
        let text = file.to_string();
        assert!(!text.contains("01,\\") && !text.contains("  02"), "{text}");
        assert!(text.contains("\"Name\"=\"old\""));
    }

    #[test]
    fn adds_what_is_missing() {
        let mut file = RegistryFile::parse(FILE);
        file.set(r"Software\A", "New", &Data::Number(7));
        file.set(r"System\C", "New", &Data::Text("x".into()));
        let text = file.to_string();
        let place = |part: &str| text.find(part).unwrap();
        assert!(place("\"New\"=dword:00000007") < place("Software\\\\B"));
        assert!(text.ends_with("[System\\\\C] 0\n\"New\"=\"x\"\n"), "{text}");
    }
}
