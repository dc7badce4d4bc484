//! The end of a text file: what a program wrote before it went.

use std::io::Read;

use casement_resource::{Code, Failure, HostPath};

use crate::platform::{EntryKind, Platform, Result};

/// Nobody reads more than this of a log in one go.
pub(super) const MOST: usize = 64 * 1024;

/// Whole lines: at most so many bytes of them, and where in the file they end.
/// Whoever has read so far hears what came since.
pub(super) fn end(
    platform: &dyn Platform,
    path: &HostPath,
    most: usize,
    since: Option<u64>,
) -> Result<(Option<String>, u64)> {
    match platform.entry(path)? {
        Some(entry) if entry.kind == EntryKind::File => {}
        _ => return Ok((None, 0)),
    }
    let (kept, size) = last_bytes(platform, path, most)?;
    let begin = size.saturating_sub(kept.len() as u64);
    // A file that is shorter than it was is another one.
    let since = since.filter(|since| *since <= size);
    let skip = since.map_or(0, |since| since.saturating_sub(begin));
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let new = kept.get(skip..).unwrap_or_default();
    // Somebody who follows gets the rest of a line with its end.
    let whole = match since {
        Some(_) => new
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1),
        None => new.len(),
    };
    let cut = begin > 0 && since.is_none_or(|since| since < begin);
    let lines = new.get(..whole).unwrap_or_default();
    let text = String::from_utf8_lossy(lines);
    let text = match text.split_once('\n') {
        Some((_, rest)) if cut => rest,
        _ => &text,
    };
    let end = size.saturating_sub((new.len() - whole) as u64);
    Ok((Some(text.to_owned()), end))
}

/// At most so many bytes from the end, and how many there are.
fn last_bytes(platform: &dyn Platform, path: &HostPath, most: usize) -> Result<(Vec<u8>, u64)> {
    let mut file = platform.open(path)?;
    let (mut kept, mut buffer, mut size) = (Vec::new(), vec![0; 16 * 1024], 0);
    loop {
        let count = file
            .read(&mut buffer)
            .map_err(|error| unreadable(path, &error))?;
        if count == 0 {
            keep_last(&mut kept, most);
            return Ok((kept, size));
        }
        size += count as u64;
        kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
        // Not at each piece: what stays is moved.
        if kept.len() >= 2 * most {
            keep_last(&mut kept, most);
        }
    }
}

fn keep_last(bytes: &mut Vec<u8>, most: usize) {
    let over = bytes.len().saturating_sub(most);
    bytes.drain(..over);
}

fn unreadable(path: &HostPath, error: &std::io::Error) -> Failure {
    Failure::new(
        Code::System,
        format!("`{path}` cannot be read"),
        "check its permissions, and whether a program holds it open",
    )
    .found(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Sim, Thing, World};

    fn host(text: &str) -> Sim {
        let mut world = World::default();
        let path: HostPath = r"C:\log.txt".parse().unwrap();
        let file = Thing::File(text.as_bytes().to_vec());
        world.entries.insert(path, (file, "everybody".to_owned()));
        Sim::new(world)
    }

    fn read(text: &str, most: usize, since: Option<u64>) -> (String, u64) {
        let path = r"C:\log.txt".parse().unwrap();
        let (text, end) = end(&host(text), &path, most, since).unwrap();
        (text.unwrap(), end)
    }

    #[test]
    fn the_last_whole_lines_are_told() {
        let all = "first\nsecond\nthird\n";
        assert_eq!(read(all, 1000, None), (all.to_owned(), 19));
        assert_eq!(read(all, 10, None), ("third\n".to_owned(), 19));
        let unfinished = read("first\nhalf", 1000, None);
        assert_eq!(unfinished, ("first\nhalf".to_owned(), 10));
    }

    #[test]
    fn who_has_read_so_far_hears_the_lines_that_came_since() {
        let all = "first\nsecond\nhal";
        assert_eq!(read(all, 1000, Some(6)), ("second\n".to_owned(), 13));
        assert_eq!(read(all, 1000, Some(13)), (String::new(), 13));
        assert_eq!(read("new\n", 1000, Some(13)), ("new\n".to_owned(), 4));
        let much = read(all, 8, Some(0));
        assert_eq!(much, (String::new(), 13), "only the rest of a line is left");
    }

    #[test]
    fn a_file_that_is_not_there_is_no_error() {
        let path = r"C:\other.txt".parse().unwrap();
        assert_eq!(end(&host(""), &path, 10, None).unwrap(), (None, 0));
    }
}
