//! The end of a text file: what a program wrote before it went.

use std::io::Read;

use casement_resource::{Code, Failure, HostPath};

use crate::platform::{EntryKind, Platform, Result};

/// Nobody reads more than this of a log in one go.
const MOST: usize = 64 * 1024;

/// At most this many bytes, from the beginning of a line.
pub(super) fn end(platform: &dyn Platform, path: &HostPath, last: u32) -> Result<Option<String>> {
    match platform.entry(path)? {
        Some(entry) if entry.kind == EntryKind::File => {}
        _ => return Ok(None),
    }
    let most = usize::try_from(last).unwrap_or(MOST).min(MOST);
    let mut file = platform.open(path)?;
    let (mut kept, mut buffer, mut cut) = (Vec::new(), vec![0; 16 * 1024], false);
    loop {
        let count = file
            .read(&mut buffer)
            .map_err(|error| unreadable(path, &error))?;
        if count == 0 {
            break;
        }
        kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
        let over = kept.len().saturating_sub(most);
        cut |= over > 0;
        kept.drain(..over);
    }
    let text = String::from_utf8_lossy(&kept);
    let whole = match text.split_once('\n') {
        Some((_, rest)) if cut => rest,
        _ => &text,
    };
    Ok(Some(whole.to_owned()))
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

    #[test]
    fn the_last_whole_lines_are_told() {
        let sim = host("first\nsecond\nthird\n");
        let path = r"C:\log.txt".parse().unwrap();
        let all = end(&sim, &path, 1000).unwrap();
        assert_eq!(all.as_deref(), Some("first\nsecond\nthird\n"));
        let some = end(&sim, &path, 10).unwrap();
        assert_eq!(some.as_deref(), Some("third\n"));
    }

    #[test]
    fn a_file_that_is_not_there_is_no_error() {
        let path = r"C:\other.txt".parse().unwrap();
        assert_eq!(end(&host(""), &path, 10).unwrap(), None);
    }
}
