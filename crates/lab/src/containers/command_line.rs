//! The one string that a Windows program gets as its arguments.

use lab_wire::container::CommandLine;

/// The string for a command: as it is, or joined from arguments.
pub fn text(command: &CommandLine) -> String {
    match command {
        CommandLine::Raw(text) => text.clone(),
        CommandLine::Arguments(arguments) => join(arguments),
    }
}

/// Joins arguments so that `CommandLineToArgvW` and the C runtime take them
/// apart again; the same rules as hcsshim's, which has them from Go.
pub fn join<S: AsRef<str>>(arguments: &[S]) -> String {
    let quoted: Vec<String> = arguments
        .iter()
        .map(|argument| quote(argument.as_ref()))
        .collect();
    quoted.join(" ")
}

/// One argument. Backslashes count only in front of a quotation mark, where
/// each must be doubled; that includes the closing mark that is added here.
fn quote(argument: &str) -> String {
    let spaced = argument.is_empty() || argument.contains([' ', '\t']);
    let mut quoted = String::with_capacity(argument.len() + 2);
    if spaced {
        quoted.push('"');
    }
    let mut backslashes = 0;
    for character in argument.chars() {
        if character == '"' {
            quoted.extend(std::iter::repeat_n('\\', backslashes + 1));
        }
        backslashes = match character {
            '\\' => backslashes + 1,
            _ => 0,
        };
        quoted.push(character);
    }
    if spaced {
        quoted.extend(std::iter::repeat_n('\\', backslashes));
        quoted.push('"');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_arguments_stay_plain() {
        assert_eq!(join(&[r"C:\lab\web.exe", "80"]), r"C:\lab\web.exe 80");
        assert_eq!(join(&[r"a\\b", "c:\\"]), r"a\\b c:\");
    }

    #[test]
    fn spaces_and_nothing_are_quoted() {
        assert_eq!(
            join(&["cmd", "/c", "echo hi", ""]),
            "cmd /c \"echo hi\" \"\""
        );
        assert_eq!(join(&["a\tb"]), "\"a\tb\"");
    }

    #[test]
    fn backslashes_double_only_before_a_mark() {
        assert_eq!(join(&[r#"say "hi""#]), r#""say \"hi\"""#);
        assert_eq!(join(&[r#"a\"b"#]), r#"a\\\"b"#);
        assert_eq!(join(&[r"C:\Program Files\"]), r#""C:\Program Files\\""#);
    }

    #[test]
    fn a_raw_command_line_is_not_touched() {
        let raw = r#"cmd /S /C "echo "x y""#.to_owned();
        assert_eq!(text(&CommandLine::Raw(raw.clone())), raw);
    }
}
