//! Writes YAML with comments, line by line.

#[derive(Debug, Default)]
pub(super) struct YamlWriter {
    text: String,
    depth: usize,
    /// The next line starts a list item.
    item: bool,
}

/// Column of comments after values.
const COMMENT_COLUMN: usize = 40;

impl YamlWriter {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// A comment wrapped to the screen width.
    pub(super) fn comment(&mut self, text: &str) {
        let text = printable(text);
        let indent = "  ".repeat(self.depth);
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && indent.len() + line.len() + word.len() > 76 {
                self.text += &format!("{indent}# {line}\n");
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        self.text += &format!("{indent}# {line}\n");
    }

    /// A comment on one line of any length, so that it can be searched.
    pub(super) fn unwrapped_comment(&mut self, text: &str) {
        let text = printable(text);
        self.text += &format!("{}#   {text}\n", "  ".repeat(self.depth));
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    pub(super) fn text(&mut self, key: &str, value: &str, comment: &str) {
        self.raw(key, &scalar(value), comment);
    }

    /// A value that is YAML already: a number, a boolean, `[a, b]`.
    pub(super) fn raw(&mut self, key: &str, value: &str, comment: &str) {
        let dash = if std::mem::take(&mut self.item) {
            "- "
        } else {
            ""
        };
        let depth = self.depth - usize::from(!dash.is_empty());
        let mut line = format!("{}{dash}{key}:", "  ".repeat(depth));
        if !value.is_empty() {
            line = format!("{line} {value}");
        }
        if !comment.is_empty() {
            let comment = printable(comment);
            line = format!("{line:<COMMENT_COLUMN$}  # {comment}");
        }
        self.text += &line;
        self.text.push('\n');
    }

    /// A list of strings on one line.
    pub(super) fn list(&mut self, key: &str, values: &[String], comment: &str) {
        let values: Vec<_> = values.iter().map(|value| flow(value)).collect();
        self.raw(key, &format!("[{}]", values.join(", ")), comment);
    }

    /// Starts a mapping or list; ends with [`Self::close`].
    pub(super) fn open(&mut self, key: &str, comment: &str) {
        self.raw(key, "", comment);
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Starts a list item that is a mapping; ends with [`Self::close`].
    pub(super) fn item(&mut self) {
        self.depth += 1;
        self.item = true;
    }
}

/// Characters that YAML does not allow, even in comments.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn printable(text: &str) -> String {
    text.replace(is_unprintable, "?")
}

/// A string as YAML, quoted if necessary.
pub(super) fn scalar(text: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || "-_./\\:~@+()".contains(c);
    let first = |c: char| c.is_alphanumeric() || "/.~".contains(c);
    let plain = text.starts_with(first)
        && text.chars().all(word)
        && !text.ends_with(':')
        && text != "~"
        && !is_typed(text);
    if plain { text.to_owned() } else { quoted(text) }
}

/// Like [`scalar`], inside brackets and braces.
fn flow(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    match text.chars().all(plain) {
        true => scalar(text),
        false => quoted(text),
    }
}

/// Whether YAML would read a number, a boolean or null.
fn is_typed(text: &str) -> bool {
    let words = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let number = text.replace(['_', ':'], "");
    words.contains(&text.to_ascii_lowercase().as_str()) || number.parse::<f64>().is_ok()
}

fn quoted(text: &str) -> String {
    if !text.contains(is_unprintable) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if is_unprintable(c) => format!("\\U{:08X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_if_necessary() {
        for plain in [
            "a",
            "1.36.3",
            "10.244.0.0/16",
            "C:\\k",
            "~/.ssh/id",
            "a b".trim_end_matches(" b"),
        ] {
            assert_eq!(scalar(plain), plain);
        }
        for (text, written) in [
            ("", "''"),
            ("~", "'~'"),
            ("yes", "'yes'"),
            ("1.10", "'1.10'"),
            ("a: b", "'a: b'"),
            ("it's", "'it''s'"),
            ("- a", "'- a'"),
            ("#x", "'#x'"),
            ("a\nb", "\"a\\U0000000Ab\""),
            ("52:54:00", "'52:54:00'"),
        ] {
            assert_eq!(scalar(text), written);
        }
    }

    #[test]
    fn items_and_comments_are_aligned() {
        let mut yaml = YamlWriter::new();
        yaml.open("hosts", "");
        yaml.item();
        yaml.text("name", "win1", "hosts.ini:3");
        yaml.list("roles", &["worker".to_owned()], "");
        yaml.close();
        yaml.close();
        let expected = "hosts:\n  - name: win1                            # hosts.ini:3\n    roles: [worker]\n";
        assert_eq!(yaml.finish(), expected);
    }
}
