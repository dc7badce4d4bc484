//! Atomic file replacement.

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes and syncs the bytes to a temporary file in the same directory; `persist` renames
/// it, and dropping it removes it.
pub fn write_temporary(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".casement-");
    #[cfg(unix)]
    {
        use std::fs;
        use std::os::unix::fs::PermissionsExt;
        // The same mode as a file from an editor: the umask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(dir.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_temporary(path, bytes)?.persist(path)?;
    Ok(())
}
