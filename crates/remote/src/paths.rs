//! casement's own files on a host, and paths in the host's and in SFTP's notation.

use std::fmt;
use std::path::Path;

use casement_resource::Sha256;
use casement_resource::host_paths::{LINUX_STATE, WINDOWS_STATE};

use crate::command::HostOs;
use crate::error::{FileError, RemoteError};

/// The hash and the length of a local file.
pub fn hash_file(path: &Path) -> Result<(Sha256, u64), RemoteError> {
    use sha2::Digest as _;
    use std::io::Read as _;
    let read_error = |source| {
        RemoteError::File(FileError::Local {
            action: "read",
            path: path.to_owned(),
            source,
        })
    };
    let mut file = std::fs::File::open(path).map_err(read_error)?;
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut length = 0;
    loop {
        let count = file.read(&mut buffer).map_err(read_error)?;
        if count == 0 {
            break;
        }
        length += count as u64;
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
    Ok((Sha256::from_bytes(hasher.finalize().into()), length))
}

/// An absolute path on a host.
///
/// `C:\k\x.exe`, `C:/k/x.exe` and `/C:/k/x.exe` are the same path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RemotePath {
    /// With forward slashes and a leading one, which SFTP servers on both systems
    /// accept.
    sftp: String,
}

impl RemotePath {
    /// Parses a path in any of its notations.
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

    pub fn join(&self, name: &str) -> Self {
        Self {
            sftp: format!("{}/{name}", self.sftp.trim_end_matches('/')),
        }
    }

    /// `None` for a root or a drive.
    pub fn parent(&self) -> Option<Self> {
        let (dir, _) = self.sftp.trim_end_matches('/').rsplit_once('/')?;
        let root = dir.is_empty() || (dir.len() == 3 && dir.ends_with(':'));
        (!root).then(|| Self {
            sftp: dir.to_owned(),
        })
    }

    /// The notation of SFTP.
    pub fn sftp(&self) -> &str {
        &self.sftp
    }

    /// The notation of the host's programs.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPaths {
    pub os: HostOs,
    /// One directory per agent, named by its hash.
    pub agents: RemotePath,
    /// One file per blob, named by its hash.
    pub blobs: RemotePath,
    /// The agent's state directory, if it is not the default.
    pub state: Option<RemotePath>,
}

impl AgentPaths {
    pub fn for_os(os: HostOs) -> Self {
        let (programs, state) = match os {
            HostOs::Windows => (r"C:\Program Files\casement", WINDOWS_STATE),
            HostOs::Linux => (LINUX_STATE, LINUX_STATE),
        };
        Self {
            os,
            agents: RemotePath::new(programs).join("agent"),
            blobs: RemotePath::new(state).join("blobs"),
            state: None,
        }
    }

    /// Everything below one directory, for hosts that keep their state elsewhere.
    pub fn below(os: HostOs, dir: &str) -> Self {
        let state = RemotePath::new(dir);
        Self {
            os,
            agents: state.join("agent"),
            blobs: state.join("blobs"),
            state: Some(state),
        }
    }

    pub fn agent(&self, hash: &Sha256) -> RemotePath {
        let name = match self.os {
            HostOs::Windows => "casement-node.exe",
            HostOs::Linux => "casement-node",
        };
        self.agents.join(&hash.to_string()).join(name)
    }

    pub fn blob(&self, hash: &Sha256) -> RemotePath {
        self.blobs.join(&hash.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_has_one_notation_for_sftp_and_one_for_the_host() {
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
        let dir = RemotePath::new(r"C:\k\x").parent().unwrap();
        assert_eq!(dir.native(), r"C:\k");
        assert_eq!(dir.parent(), None);
        assert_eq!(RemotePath::new("/var").parent(), None);
    }
}
