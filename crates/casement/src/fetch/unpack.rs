//! Unpacks programs from archives.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use casement_catalog::Packing;

/// Finds the programs in any directory of the archive.
pub fn unpack(archive: &Path, packing: Packing, programs: &[&str], dir: &Path) -> io::Result<()> {
    let archive = BufReader::new(File::open(archive)?);
    match packing {
        // Not an archive.
        Packing::Plain => Ok(()),
        Packing::TarGz => {
            let mut archive = tar::Archive::new(flate2::bufread::GzDecoder::new(archive));
            for entry in archive.entries()? {
                let mut entry = entry?;
                let path = entry.path()?.to_string_lossy().into_owned();
                write_program(&path, &mut entry, programs, dir)?;
            }
            Ok(())
        }
        Packing::Zip => {
            let mut archive = zip::ZipArchive::new(archive)?;
            for index in 0..archive.len() {
                let mut entry = archive.by_index(index)?;
                let path = entry.name()?.into_owned();
                write_program(&path, &mut entry, programs, dir)?;
            }
            Ok(())
        }
    }
}

/// Writes an entry if it is one of the programs. Only its file name is used: paths in the
/// archive could point outside of the directory.
fn write_program(
    path: &str,
    entry: &mut dyn Read,
    programs: &[&str],
    dir: &Path,
) -> io::Result<()> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let program = name.strip_suffix(".exe");
    if !program.is_some_and(|program| programs.contains(&program)) {
        return Ok(());
    }
    let mut file = File::create(dir.join(name))?;
    io::copy(entry, &mut file)?;
    file.sync_all()
}

#[cfg(test)]
pub mod tests {
    use std::fs;
    use std::io::{Cursor, Write as _};

    use super::*;

    const FILES: [(&str, &str); 5] = [
        ("bin/containerd.exe", "one"),
        ("./ctr.exe", "two"),
        ("bin/containerd", "for Linux"),
        ("bin/other.exe", "three"),
        ("../../azure-vnet.exe", "four"),
    ];

    pub fn tar_gz() -> Vec<u8> {
        let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut archive = tar::Builder::new(packed);
        for (name, text) in FILES {
            let mut header = tar::Header::new_old();
            // Set directly: the library rejects `..`.
            let bytes = header.as_old_mut();
            bytes.name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(text.len() as u64);
            header.set_mode(0o755);
            header.set_cksum();
            archive.append(&header, text.as_bytes()).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    fn zip() -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for (name, text) in FILES {
            archive.start_file(name, options).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn only_requested_programs_are_unpacked_from_any_directory() {
        for (packing, bytes) in [(Packing::TarGz, tar_gz()), (Packing::Zip, zip())] {
            let dir = tempfile::tempdir().unwrap();
            let (archive, out) = (dir.path().join("archive"), dir.path().join("out"));
            fs::write(&archive, bytes).unwrap();
            fs::create_dir(&out).unwrap();
            let programs = ["containerd", "ctr", "azure-vnet", "not-in-it"];
            unpack(&archive, packing, &programs, &out).unwrap();
            let text = |name: &str| fs::read_to_string(out.join(name)).unwrap();
            assert_eq!(text("containerd.exe"), "one", "{packing:?}");
            assert_eq!(text("ctr.exe"), "two", "{packing:?}");
            assert_eq!(text("azure-vnet.exe"), "four", "{packing:?}");
            assert_eq!(fs::read_dir(&out).unwrap().count(), 3, "{packing:?}");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn invalid_archives_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("archive");
        fs::write(&archive, "<html>sign in</html>").unwrap();
        for packing in [Packing::TarGz, Packing::Zip] {
            unpack(&archive, packing, &["ctr"], dir.path()).unwrap_err();
        }
    }
}
