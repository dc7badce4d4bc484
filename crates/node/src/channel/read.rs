//! Reads the end of a text file, such as the log of a program that stopped.

use std::io::Read;

use casement_resource::{Code, Failure, HostPath};

use crate::platform::{EntryKind, Platform, Result};

/// The limit of one response.
pub(super) const MAX_BYTES: usize = 64 * 1024;

/// Returns at most `limit` bytes of whole lines, and the offset where they end. With
/// `since`, the offset of an earlier response, only lines after it.
pub(super) fn tail(
    platform: &dyn Platform,
    path: &HostPath,
    limit: usize,
    since: Option<u64>,
) -> Result<(Option<String>, u64)> {
    match platform.entry(path)? {
        Some(entry) if entry.kind == EntryKind::File => {}
        _ => return Ok((None, 0)),
    }
    let (kept, size) = last_bytes(platform, path, limit)?;
    let start = size.saturating_sub(kept.len() as u64);
    // A file that is shorter than before was replaced.
    let since = since.filter(|since| *since <= size);
    let skip = since.map_or(0, |since| since.saturating_sub(start));
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let new = kept.get(skip..).unwrap_or_default();
    // A follower gets an incomplete line once it is complete.
    let whole = match since {
        Some(_) => new
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1),
        None => new.len(),
    };
    let cut = start > 0 && since.is_none_or(|since| since < start);
    let lines = new.get(..whole).unwrap_or_default();
    let text = String::from_utf8_lossy(lines);
    let text = match text.split_once('\n') {
        Some((_, rest)) if cut => rest,
        _ => &text,
    };
    let end = size.saturating_sub((new.len() - whole) as u64);
    Ok((Some(text.to_owned()), end))
}

/// At most `limit` bytes from the end, and the size of the file.
fn last_bytes(platform: &dyn Platform, path: &HostPath, limit: usize) -> Result<(Vec<u8>, u64)> {
    let mut file = platform.open(path)?;
    let (mut kept, mut buffer, mut size) = (Vec::new(), vec![0; 16 * 1024], 0);
    loop {
        let count = file
            .read(&mut buffer)
            .map_err(|error| unreadable(path, &error))?;
        if count == 0 {
            keep_last(&mut kept, limit);
            return Ok((kept, size));
        }
        size += count as u64;
        kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
        // Not after each read, since this moves the remaining bytes.
        if kept.len() >= 2 * limit {
            keep_last(&mut kept, limit);
        }
    }
}

fn keep_last(bytes: &mut Vec<u8>, limit: usize) {
    let excess = bytes.len().saturating_sub(limit);
    bytes.drain(..excess);
}

fn unreadable(path: &HostPath, error: &std::io::Error) -> Failure {
    Failure::new(
        Code::System,
        format!("failed to read `{path}`"),
        "check its permissions and whether another program has it open",
    )
    .found(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Sim, SimEntry, World};

    fn host(text: &str) -> Sim {
        let mut world = World::default();
        let path: HostPath = r"C:\log.txt".parse().unwrap();
        let file = SimEntry::File(text.as_bytes().to_vec());
        world.entries.insert(path, (file, "everybody".to_owned()));
        Sim::new(world)
    }

    fn read(text: &str, limit: usize, since: Option<u64>) -> (String, u64) {
        let path = r"C:\log.txt".parse().unwrap();
        let (text, end) = tail(&host(text), &path, limit, since).unwrap();
        (text.unwrap(), end)
    }

    #[test]
    fn tail_returns_the_last_whole_lines() {
        let all = "first\nsecond\nthird\n";
        assert_eq!(read(all, 1000, None), (all.to_owned(), 19));
        assert_eq!(read(all, 10, None), ("third\n".to_owned(), 19));
        let unfinished = read("first\nhalf", 1000, None);
        assert_eq!(unfinished, ("first\nhalf".to_owned(), 10));
    }

    #[test]
    fn tail_since_an_offset_returns_new_lines() {
        let all = "first\nsecond\nhal";
        assert_eq!(read(all, 1000, Some(6)), ("second\n".to_owned(), 13));
        assert_eq!(read(all, 1000, Some(13)), (String::new(), 13));
        assert_eq!(read("new\n", 1000, Some(13)), ("new\n".to_owned(), 4));
        let much = read(all, 8, Some(0));
        assert_eq!(much, (String::new(), 13), "only part of a line is left");
    }

    #[test]
    fn missing_file_is_not_an_error() {
        let path = r"C:\other.txt".parse().unwrap();
        assert_eq!(tail(&host(""), &path, 10, None).unwrap(), (None, 0));
    }
}
