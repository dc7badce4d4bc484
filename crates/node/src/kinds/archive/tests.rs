//! Malicious and damaged archives.

use std::io::{Cursor, Seek, Write};

use casement_resource::Sha256;
use flate2::{Compression, write::GzEncoder};
use tar::{EntryType, Header};
use zip::write::SimpleFileOptions;

use super::*;

/// A tar entry with an unchecked name, which the library would reject.
fn entry(kind: EntryType, name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o755);
    header.set_size(content.len() as u64);
    if kind.is_symlink() || kind.is_hard_link() {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn tar_gz(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for entry in entries {
        encoder.write_all(entry).unwrap();
    }
    encoder.write_all(&[0; 1024]).unwrap();
    encoder.finish().unwrap()
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn unpack(blob: &[u8], format: ArtifactFormat, destination: &str) -> Result<Vec<u8>, ArchiveError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(blob).unwrap();
    file.rewind().unwrap();
    let artifact = Artifact {
        sha256: Sha256::of(blob),
        size: blob.len() as u64,
        format,
        destination: destination.parse().unwrap(),
        members: Vec::new(),
        access: Default::default(),
    };
    let mut content = Vec::new();
    let wanted = BTreeSet::from(["bin/tool"]);
    members(file, &artifact, &wanted, &mut |_, reader| {
        reader.read_to_end(&mut content).map(drop)
    })?;
    Ok(content)
}

const FILE: EntryType = EntryType::Regular;

#[test]
fn finds_a_member_among_folders_links_and_other_files() {
    let blob = tar_gz(&[
        entry(EntryType::Directory, "./bin/", b""),
        entry(EntryType::Symlink, "./bin/link", b""),
        entry(FILE, "./bin/tool", b"hello"),
        entry(FILE, "c:d", b""),
    ]);
    assert_eq!(
        unpack(&blob, ArtifactFormat::TarGz, "/x").unwrap(),
        b"hello"
    );
    let blob = zip(&[("other", b"x"), (r"bin\tool", b"hello")]);
    assert_eq!(
        unpack(&blob, ArtifactFormat::Zip, r"C:\x").unwrap(),
        b"hello"
    );
}

#[test]
fn rejects_a_member_that_is_a_link() {
    for (kind, what) in [
        (EntryType::Symlink, "a symbolic link"),
        (EntryType::Link, "a hard link"),
        (EntryType::Directory, "a directory"),
        (EntryType::Fifo, "a special file"),
    ] {
        let blob = tar_gz(&[entry(kind, "bin/tool", b"")]);
        let name = "bin/tool".to_owned();
        let wanted = ArchiveError::NotAFile { name, what };
        assert_eq!(unpack(&blob, ArtifactFormat::TarGz, "/x"), Err(wanted));
    }
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    writer
        .add_symlink("bin/tool", "/etc/passwd", options)
        .unwrap();
    let blob = writer.finish().unwrap().into_inner();
    let rejected = unpack(&blob, ArtifactFormat::Zip, r"C:\x").unwrap_err();
    assert!(
        rejected.to_string().contains("a symbolic link"),
        "{rejected}"
    );
}

#[test]
fn rejects_escaping_names_even_if_unwanted() {
    for name in [
        "../evil",
        "./../evil",
        "bin/../../evil",
        r"..\evil",
        "/etc/evil",
        r"\evil",
        r"C:\evil",
        "C:evil",
        "bin/tool:evil",
    ] {
        let blob = tar_gz(&[entry(FILE, "bin/tool", b"x"), entry(FILE, name, b"x")]);
        let rejected = unpack(&blob, ArtifactFormat::TarGz, r"C:\x").unwrap_err();
        assert!(
            matches!(rejected, ArchiveError::Escapes(_)),
            "{name}: {rejected}"
        );
        let blob = zip(&[("bin/tool", b"x"), (name, b"x")]);
        let rejected = unpack(&blob, ArtifactFormat::Zip, r"C:\x").unwrap_err();
        assert!(
            matches!(rejected, ArchiveError::Escapes(_)),
            "{name}: {rejected}"
        );
    }
}

#[test]
fn rejects_a_bomb_in_any_entry() {
    let zeros = vec![0; 24 * 1024 * 1024];
    for names in [["bin/tool", "other"], ["other", "bin/tool"]] {
        let contents: [&[u8]; 2] = [&zeros, b"x"];
        let entries = names.iter().zip(contents);
        let blob = tar_gz(
            &entries
                .clone()
                .map(|(name, content)| entry(FILE, name, content))
                .collect::<Vec<_>>(),
        );
        assert!(blob.len() < 64 * 1024);
        let rejected = unpack(&blob, ArtifactFormat::TarGz, "/x").unwrap_err();
        assert_eq!(rejected, ArchiveError::TooLarge, "{names:?}");
        let entries: Vec<_> = entries.map(|(name, content)| (*name, content)).collect();
        let rejected = unpack(&zip(&entries), ArtifactFormat::Zip, "/x").unwrap_err();
        assert_eq!(rejected, ArchiveError::TooLarge, "{names:?}");
    }
}

#[test]
fn rejects_too_many_entries() {
    let many: Vec<_> = (0..5000)
        .map(|number| entry(FILE, &format!("f{number}"), b""))
        .collect();
    let blob = tar_gz(&many);
    let rejected = unpack(&blob, ArtifactFormat::TarGz, "/x").unwrap_err();
    assert_eq!(rejected, ArchiveError::TooMany(4097));
}

#[test]
fn rejects_truncated_and_modified_archives() {
    let content: Vec<u8> = (0..40_000_u32).flat_map(u32::to_le_bytes).collect();
    let tar = tar_gz(&[entry(FILE, "bin/tool", &content)]);
    let zip = zip(&[("bin/tool", &content)]);
    for (blob, format) in [(tar, ArtifactFormat::TarGz), (zip, ArtifactFormat::Zip)] {
        assert_eq!(unpack(&blob, format, "/x").unwrap(), content);
        let truncated = &blob[..blob.len() / 2];
        let rejected = unpack(truncated, format, "/x").unwrap_err();
        assert!(matches!(rejected, ArchiveError::Broken(_)), "{rejected}");
        let mut changed = blob.clone();
        changed[blob.len() / 2] ^= 1;
        let rejected = unpack(&changed, format, "/x").unwrap_err();
        assert!(matches!(rejected, ArchiveError::Broken(_)), "{rejected}");
    }
    let rejected = unpack(b"not an archive", ArtifactFormat::Zip, "/x").unwrap_err();
    assert!(matches!(rejected, ArchiveError::Broken(_)), "{rejected}");
}
