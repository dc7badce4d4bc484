//! Builds the command line string of a Windows process.

use lab_wire::container::CommandLine;

pub fn text(command: &CommandLine) -> String {
    match command {
        CommandLine::Raw(text) => text.clone(),
        CommandLine::Arguments(arguments) => join(arguments),
    }
}

/// Joins arguments so that `CommandLineToArgvW` and the C runtime split them again;
/// the same rules as hcsshim's and Go's `syscall.EscapeArg`.
pub fn join<S: AsRef<str>>(arguments: &[S]) -> String {
    let quoted: Vec<String> = arguments
        .iter()
        .map(|argument| quote(argument.as_ref()))
        .collect();
    quoted.join(" ")
}

/// Backslashes are special only before a quotation mark, where they must be doubled,
/// including the closing mark that is added here.
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
    fn arguments_without_spaces_are_not_quoted() {
        assert_eq!(join(&[r"C:\lab\web.exe", "80"]), r"C:\lab\web.exe 80");
        assert_eq!(join(&[r"a\\b", "c:\\"]), r"a\\b c:\");
    }

    #[test]
    fn spaces_and_empty_arguments_are_quoted() {
        assert_eq!(
            join(&["cmd", "/c", "echo hi", ""]),
            "cmd /c \"echo hi\" \"\""
        );
        assert_eq!(join(&["a\tb"]), "\"a\tb\"");
    }

    #[test]
    fn backslashes_are_doubled_only_before_quotation_marks() {
        assert_eq!(join(&[r#"say "hi""#]), r#""say \"hi\"""#);
        assert_eq!(join(&[r#"a\"b"#]), r#"a\\\"b"#);
        assert_eq!(join(&[r"C:\Program Files\"]), r#""C:\Program Files\\""#);
    }

    #[test]
    fn raw_command_line_is_unchanged() {
        let raw = r#"cmd /S /C "echo "x y""#.to_owned();
        assert_eq!(text(&CommandLine::Raw(raw.clone())), raw);
    }
}
