//! Archives: files out of a tar.gz or a zip, by name.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read};

use casement_resource::ArtifactFormat;
use flate2::read::GzDecoder;

/// What is done with each member that is found.
pub type Take<'a> = dyn FnMut(&str, &mut dyn Read) -> io::Result<()> + 'a;

/// Gives each wanted member, once, to `take`; returns the names that are not
/// in the archive. Links and folders are not files.
pub fn members<'a>(
    blob: File,
    format: ArtifactFormat,
    wanted: &BTreeSet<&'a str>,
    take: &mut Take<'_>,
) -> io::Result<BTreeSet<&'a str>> {
    let mut left = wanted.clone();
    match format {
        ArtifactFormat::Plain => {}
        ArtifactFormat::TarGz => {
            let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(blob)));
            for entry in archive.entries()? {
                let mut entry = entry?;
                if !entry.header().entry_type().is_file() {
                    continue;
                }
                let path = entry.path_bytes().into_owned();
                let name = String::from_utf8_lossy(&path);
                let name = plain(&name);
                if left.remove(name) {
                    take(name, &mut entry)?;
                }
            }
        }
        ArtifactFormat::Zip => {
            let mut archive = zip::ZipArchive::new(BufReader::new(blob))?;
            for index in 0..archive.len() {
                let mut entry = archive.by_index(index)?;
                if !entry.is_file() {
                    continue;
                }
                let name = entry.name().map_err(io::Error::from)?.replace('\\', "/");
                let name = plain(&name);
                if left.remove(name) {
                    take(name, &mut entry)?;
                }
            }
        }
    }
    Ok(left)
}

fn plain(name: &str) -> &str {
    name.trim_start_matches("./")
}
