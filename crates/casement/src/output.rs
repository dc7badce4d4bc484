//! Data on standard output, messages on standard error, and both in the log file.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::LazyLock;

use casement_diag::{Problem, Style};

use crate::failure::CommandError;
use crate::log_file;

/// Characters beyond ASCII that layouts depend on.
#[derive(Debug, PartialEq, Eq)]
pub struct Symbols {
    pub done: char,
    pub failed: char,
    /// The finished part of a bar, its end, and the rest.
    pub bar: [char; 3],
    pub ellipsis: &'static str,
    pub arrow: &'static str,
}

pub const UNICODE: Symbols = Symbols {
    done: '✓',
    failed: '✗',
    bar: ['━', '╺', '┄'],
    ellipsis: "…",
    arrow: "→",
};

pub const ASCII: Symbols = Symbols {
    done: '+',
    failed: 'x',
    bar: ['#', '>', '-'],
    ellipsis: "...",
    arrow: "->",
};

pub fn symbols() -> &'static Symbols {
    match unicode() {
        true => &UNICODE,
        false => &ASCII,
    }
}

/// Whether output may have colors and characters beyond ASCII.
fn unicode() -> bool {
    static UNICODE: LazyLock<bool> =
        LazyLock::new(|| allows_unicode(|name| std::env::var(name).ok()));
    *UNICODE
}

/// Not with `TERM=dumb`, with `NO_COLOR`, or in a locale other than UTF-8. Without any
/// locale, UTF-8 is assumed: containers and Windows set none.
fn allows_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    // The order in which POSIX evaluates them.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let utf8 = locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    utf8 && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// Whether a stream gets colors.
pub fn color(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && unicode()
}

/// How findings are rendered to a stream.
pub fn style(stream: &impl IsTerminal) -> Style {
    match color(stream) {
        true => Style::Color,
        false => Style::Plain,
    }
}

/// The text with arrows and ellipses that the terminal can show. Not for JSON, YAML or
/// file contents.
pub fn encode(text: &str) -> Cow<'_, str> {
    encode_with(text, symbols())
}

fn encode_with<'a>(text: &'a str, symbols: &Symbols) -> Cow<'a, str> {
    if *symbols == UNICODE || text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let text = text.replace(UNICODE.arrow, symbols.arrow);
    Cow::Owned(text.replace(UNICODE.ellipsis, symbols.ellipsis))
}

/// Prints to standard output. A closed pipe is not an error: the reader has seen enough.
pub fn print(text: &str) -> Result<(), CommandError> {
    log_file::write(text);
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let what = "failed to write to standard output";
            let problem = Problem::new("CAS-FILE-006", what, output_help(&error));
            Err(problem.detail("cause", error).into())
        }
        _ => Ok(()),
    }
}

fn output_help(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            "free some space, or redirect the output to a file on another disk"
        }
        _ => "redirect the output to another file",
    }
}

/// Prints whole lines to standard error.
pub fn message(text: &str) {
    let text = encode(text);
    eprint!("{text}{}", log_file::line_end(&text));
    log_file::write(&text);
}

/// Prints a problem to standard error, below a heading. In the log file it is not wrapped.
pub fn report(heading: &str, problem: &Problem) {
    eprint!("{}{}", encode(heading), self::problem(problem));
    let whole = format!("{heading}{}", problem.wrapped(usize::MAX));
    log_file::write(&encode(&whole));
}

/// A problem wrapped to the width of standard error.
pub fn problem(problem: &Problem) -> String {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let columns = size.map_or(usize::MAX, |(width, _)| width.0.into());
    encode(&problem.wrapped(columns)).into_owned()
}

/// The width for lines on standard output; unlimited where it is not a terminal. The last
/// column stays free: a full line makes some terminals wrap.
pub fn stdout_width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or(usize::MAX, |(width, _)| {
        usize::from(width.0).saturating_sub(1)
    })
}

/// `a`, `a and b`, `a, b and c`; more than four are abbreviated.
pub fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [a, b, c, _, _, rest @ ..] => format!("{a}, {b}, {c} and {} more", rest.len() + 2),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1 host`, `2 hosts`.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// At most `width` characters; an ellipsis marks a cut.
pub fn cut(text: &str, width: usize, symbols: &Symbols) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let ellipsis: String = symbols.ellipsis.chars().take(width).collect();
    let kept = width - ellipsis.chars().count();
    let kept: String = text.chars().take(kept).collect();
    format!("{}{ellipsis}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_of_names_are_abbreviated() {
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c", "d"]), "a, b, c and d");
        assert_eq!(list(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!(count(0, "host"), "0 hosts");
        assert_eq!(count(1, "host"), "1 host");
        assert_eq!(count(2, "host"), "2 hosts");
    }

    #[test]
    fn lines_are_cut_to_the_width_of_the_terminal() {
        assert_eq!(cut("0123456789", usize::MAX, &UNICODE), "0123456789");
        assert_eq!(cut("0123456789", 10, &UNICODE), "0123456789");
        assert_eq!(cut("0123456789", 7, &UNICODE), "012345…");
        assert_eq!(cut("0123456789", 7, &ASCII), "0123...");
        assert_eq!(cut("0123456789", 2, &ASCII), "..");
        assert_eq!(cut("0123456789", 0, &UNICODE), "");
    }

    #[test]
    fn dumb_terminals_no_color_and_other_locales_get_ascii() {
        let allowed = |variables: &[(&str, &str)]| {
            allows_unicode(|name| {
                let found = variables.iter().find(|(own, _)| *own == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        for variables in [
            &[][..],
            &[("LANG", "en_US.UTF-8"), ("TERM", "xterm-256color")],
            &[("LANG", "C"), ("LC_CTYPE", "C.utf8")],
            &[("NO_COLOR", ""), ("LC_ALL", ""), ("LANG", "C.UTF-8")],
        ] {
            assert!(allowed(variables), "{variables:?}");
        }
        for variables in [
            &[("TERM", "dumb")][..],
            &[("NO_COLOR", "1"), ("LANG", "en_US.UTF-8")],
            &[("LANG", "C")],
            &[("LANG", "de_DE.ISO-8859-1")],
            &[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")],
        ] {
            assert!(!allowed(variables), "{variables:?}");
        }
    }

    #[test]
    fn ascii_output_has_no_arrows_and_ellipses() {
        assert_eq!(encode_with("a → b …", &UNICODE), "a → b …");
        assert_eq!(encode_with("a → b …", &ASCII), "a -> b ...");
    }
}
