//! Where casement's own files are on a host, and how paths are written there.

use std::fmt;
use std::path::Path;

use casement_resource::Sha256;

use crate::command::HostOs;
use crate::error::RemoteError;

/// The digest of a file here, and its length.
pub fn hash_file(path: &Path) -> Result<(Sha256, u64), RemoteError> {
    use sha2::Digest as _;
    use std::io::Read as _;
    let unreadable = |source| RemoteError::LocalFile {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut file = std::fs::File::open(path).map_err(unreadable)?;
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut length = 0;
    loop {
        let count = file.read(&mut buffer).map_err(unreadable)?;
        if count == 0 {
            break;
        }
        length += count as u64;
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
    Ok((Sha256::from_bytes(hasher.finalize().into()), length))
}

/// An absolute path on a host, in the host's own form or in SFTP's.
///
/// `C:\k\x.exe`, `C:/k/x.exe` and `/C:/k/x.exe` are the same path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RemotePath {
    /// Forward slashes, starting with one: what SFTP servers on both systems take.
    sftp: String,
}

impl RemotePath {
    /// Reads a path in any of its forms.
    pub fn new(path: &str) -> Self {
        let bytes = path.as_bytes();
        let drive = |at: usize| {
            bytes.get(at).is_some_and(u8::is_ascii_alphabetic) && bytes.get(at + 1) == Some(&b':')
        };
        let sftp = match (drive(0), bytes.first() == Some(&b'/') && drive(1)) {
            (true, _) => format!("/{}", path.replace('\\', "/")),
            (_, true) => path.replace('\\', "/"),
            _ => path.to_owned(),
        };
        Self { sftp }
    }

    /// A name inside this folder.
    pub fn join(&self, name: &str) -> Self {
        Self {
            sftp: format!("{}/{name}", self.sftp.trim_end_matches('/')),
        }
    }

    /// The folder that it is in; none for a root or a drive.
    pub fn parent(&self) -> Option<Self> {
        let (folder, _) = self.sftp.trim_end_matches('/').rsplit_once('/')?;
        let root = folder.is_empty() || (folder.len() == 3 && folder.ends_with(':'));
        (!root).then(|| Self {
            sftp: folder.to_owned(),
        })
    }

    /// The form that SFTP servers take.
    pub fn sftp(&self) -> &str {
        &self.sftp
    }

    /// The form that the host's programs take.
    pub fn native(&self) -> String {
        match self.sftp.as_bytes() {
            [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => {
                self.sftp.trim_start_matches('/').replace('/', "\\")
            }
            _ => self.sftp.clone(),
        }
    }
}

impl fmt::Display for RemotePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.native())
    }
}

/// casement's folders on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The system, which decides on names and command lines.
    pub os: HostOs,
    /// Holds one folder per agent, named by its hash.
    pub agents: RemotePath,
    /// Holds blobs, each named by its hash.
    pub blobs: RemotePath,
    /// Where the agent keeps its state, if that is not its usual place.
    pub state: Option<RemotePath>,
}

impl Places {
    /// The places of the design.
    pub fn of(os: HostOs) -> Self {
        let (agents, blobs) = match os {
            HostOs::Windows => (
                r"C:\Program Files\casement\agent",
                r"C:\ProgramData\casement\blobs",
            ),
            HostOs::Linux => ("/var/lib/casement/agent", "/var/lib/casement/blobs"),
        };
        Self {
            os,
            agents: RemotePath::new(agents),
            blobs: RemotePath::new(blobs),
            state: None,
        }
    }

    /// Everything below one folder, for hosts that keep their state elsewhere.
    pub fn below(os: HostOs, folder: &str) -> Self {
        let state = RemotePath::new(folder);
        Self {
            os,
            agents: state.join("agent"),
            blobs: state.join("blobs"),
            state: Some(state),
        }
    }

    /// The agent with this hash.
    pub fn agent(&self, hash: &Sha256) -> RemotePath {
        let name = match self.os {
            HostOs::Windows => "casement-node.exe",
            HostOs::Linux => "casement-node",
        };
        self.agents.join(&hash.to_string()).join(name)
    }

    /// The blob with this hash.
    pub fn blob(&self, hash: &Sha256) -> RemotePath {
        self.blobs.join(&hash.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_form_for_sftp_and_one_for_the_host() {
        for form in [
            r"C:\Program Files\x",
            "C:/Program Files/x",
            "/C:/Program Files/x",
        ] {
            let path = RemotePath::new(form);
            assert_eq!(path.sftp(), "/C:/Program Files/x");
            assert_eq!(path.native(), r"C:\Program Files\x");
        }
        assert_eq!(RemotePath::new("/var/lib").native(), "/var/lib");
        let folder = RemotePath::new(r"C:\k\x").parent().unwrap();
        assert_eq!(folder.native(), r"C:\k");
        assert_eq!(folder.parent(), None);
        assert_eq!(RemotePath::new("/var").parent(), None);
    }
}
