//! Programs out of a download that is packed.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use casement_catalog::Packing;

/// Takes the programs out of an archive, whichever folder they are in there.
pub fn unpack(archive: &Path, packing: Packing, programs: &[&str], into: &Path) -> io::Result<()> {
    let archive = BufReader::new(File::open(archive)?);
    match packing {
        // It is a program, and no archive of some.
        Packing::Plain => Ok(()),
        Packing::TarGz => {
            let mut archive = tar::Archive::new(flate2::bufread::GzDecoder::new(archive));
            for entry in archive.entries()? {
                let mut entry = entry?;
                let path = entry.path()?.to_string_lossy().into_owned();
                put(&path, &mut entry, programs, into)?;
            }
            Ok(())
        }
        Packing::Zip => {
            let mut archive = zip::ZipArchive::new(archive)?;
            for index in 0..archive.len() {
                let mut entry = archive.by_index(index)?;
                let path = entry.name()?.into_owned();
                put(&path, &mut entry, programs, into)?;
            }
            Ok(())
        }
    }
}

/// Writes an entry, if it is one of the programs. Only its own name says where to:
/// folders in the archive lead nowhere.
fn put(path: &str, entry: &mut dyn Read, programs: &[&str], into: &Path) -> io::Result<()> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let program = name.strip_suffix(".exe");
    if !program.is_some_and(|program| programs.contains(&program)) {
        return Ok(());
    }
    let mut file = File::create(into.join(name))?;
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
            // Written as it stands: the library itself refuses to lead upwards.
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
    fn only_wanted_programs_come_out_whatever_folder_they_are_in() {
        for (packing, bytes) in [(Packing::TarGz, tar_gz()), (Packing::Zip, zip())] {
            let folder = tempfile::tempdir().unwrap();
            let (archive, into) = (folder.path().join("archive"), folder.path().join("out"));
            fs::write(&archive, bytes).unwrap();
            fs::create_dir(&into).unwrap();
            let wanted = ["containerd", "ctr", "azure-vnet", "not-in-it"];
            unpack(&archive, packing, &wanted, &into).unwrap();
            let text = |name: &str| fs::read_to_string(into.join(name)).unwrap();
            assert_eq!(text("containerd.exe"), "one", "{packing:?}");
            assert_eq!(text("ctr.exe"), "two", "{packing:?}");
            assert_eq!(text("azure-vnet.exe"), "four", "{packing:?}");
            assert_eq!(fs::read_dir(&into).unwrap().count(), 3, "{packing:?}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn what_is_no_archive_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("archive");
        fs::write(&archive, "<html>sign in</html>").unwrap();
        for packing in [Packing::TarGz, Packing::Zip] {
            unpack(&archive, packing, &["ctr"], folder.path()).unwrap_err();
        }
    }
}
