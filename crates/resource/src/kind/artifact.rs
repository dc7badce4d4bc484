//! `artifact`: files from a blob that is pinned by its hash.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::diff::{compare_access, content};
use crate::{Access, AccessFacts, Change, Diff, HostPath, PathError, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ArtifactFormat {
    /// The blob is the file.
    Plain,
    Zip,
    TarGz,
}

impl fmt::Display for ArtifactFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Plain => "file",
            Self::Zip => "zip",
            Self::TarGz => "tar.gz",
        })
    }
}

/// One file of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Member {
    /// The path in the archive, with slashes (`bin/containerd.exe`).
    pub from: String,
    /// Relative to the destination.
    pub to: String,
    #[serde(default, skip_serializing_if = "Access::is_inherited")]
    pub access: Access,
}

/// Files that should exist, unpacked from a blob in the host's blob folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Artifact {
    /// The blob's hash; also its name in the blob folder.
    pub sha256: Sha256,
    pub size: u64,
    pub format: ArtifactFormat,
    /// A file for a plain blob, a folder for an archive.
    pub destination: HostPath,
    /// The members to extract; nothing else is unpacked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// The access of a plain blob's file.
    #[serde(default, skip_serializing_if = "Access::is_inherited")]
    pub access: Access,
}

/// Limits that protect against decompression bombs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackLimits {
    /// The unpacked size of all entries.
    pub bytes: u64,
    /// The number of entries of any type.
    pub entries: u64,
}

impl Artifact {
    /// Derived from the blob's size: programs usually compress to a third, not to a
    /// thirtieth. The floor is for small blobs.
    #[must_use]
    pub fn unpack_limits(&self) -> UnpackLimits {
        const FLOOR: u64 = 16 * 1024 * 1024;
        UnpackLimits {
            bytes: self.size.saturating_mul(32).max(FLOOR),
            entries: (self.size / 256).max(4096),
        }
    }

    /// The files on the host, with the archive member of each (none for a plain blob).
    pub fn targets(&self) -> Result<BTreeMap<HostPath, Option<&str>>, PathError> {
        if self.format == ArtifactFormat::Plain {
            return Ok(BTreeMap::from([(self.destination.clone(), None)]));
        }
        self.members
            .iter()
            .map(|member| {
                Ok((
                    self.destination.join(&member.to)?,
                    Some(member.from.as_str()),
                ))
            })
            .collect()
    }

    /// The access of each target file.
    pub fn accesses(&self) -> Result<BTreeMap<HostPath, Access>, PathError> {
        if self.format == ArtifactFormat::Plain {
            return Ok(BTreeMap::from([(self.destination.clone(), self.access)]));
        }
        let members = self.members.iter();
        members
            .map(|member| Ok((self.destination.join(&member.to)?, member.access)))
            .collect()
    }

    #[must_use]
    pub fn diff(&self, facts: &ArtifactFacts) -> Diff {
        let mut changes = Vec::new();
        for (path, target) in &facts.targets {
            let wanted = match &target.wanted {
                Some(sha256) => format!("sha256 {}", sha256.short()),
                None => format!("from blob {}", self.sha256.short()),
            };
            let found = target.found.as_ref();
            match found.map(|found| &found.content) {
                None => changes.push(Change::missing(path.as_str(), wanted)),
                Some((found, _)) if Some(found) == target.wanted.as_ref() => {}
                Some((found, size)) => {
                    changes.push(Change::field(path.as_str(), content(found, *size), wanted));
                }
            }
            if let Some(found) = found {
                compare_access(&mut changes, target.access, &found.access);
            }
        }
        Diff::from_changes(changes, || {
            let files = facts.targets.len();
            let plural = if files == 1 {
                "file matches"
            } else {
                "files match"
            };
            format!("{files} {plural} blob {}", self.sha256.short())
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArtifactFacts {
    /// One entry per target.
    pub targets: BTreeMap<HostPath, MemberFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemberFacts {
    /// The expected hash; unknown until the archive is unpacked once.
    pub wanted: Option<Sha256>,
    /// The desired access.
    pub access: Access,
    pub found: Option<MemberFound>,
}

/// A file found at an artifact's target path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemberFound {
    pub content: (Sha256, u64),
    pub access: AccessFacts,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Artifact {
        Artifact {
            sha256: Sha256::of(b"blob"),
            size: 4,
            format: ArtifactFormat::TarGz,
            destination: r"C:\k".parse().unwrap(),
            members: vec![Member {
                from: "bin/ctr.exe".to_owned(),
                to: "ctr.exe".to_owned(),
                access: Access::Inherited,
            }],
            access: Access::Inherited,
        }
    }

    fn facts(wanted: Option<Sha256>, found: Option<&[u8]>) -> ArtifactFacts {
        let found = found.map(|bytes| MemberFound {
            content: (Sha256::of(bytes), bytes.len() as u64),
            access: AccessFacts {
                administrators_only: false,
                owner_trusted: true,
                descriptor: "0644 0:0".to_owned(),
            },
        });
        let path = r"C:\k\ctr.exe".parse().unwrap();
        let member = MemberFacts {
            wanted,
            access: archive().members[0].access,
            found,
        };
        ArtifactFacts {
            targets: BTreeMap::from([(path, member)]),
        }
    }

    #[test]
    fn a_file_of_unknown_origin_is_replaced() {
        assert!(!archive().diff(&facts(None, Some(b"x"))).in_sync());
        assert!(
            !archive()
                .diff(&facts(Some(Sha256::of(b"x")), None))
                .in_sync()
        );
        assert!(
            archive()
                .diff(&facts(Some(Sha256::of(b"x")), Some(b"x")))
                .in_sync()
        );
    }

    #[test]
    fn another_mode_is_reported_with_both_values() {
        let mut found = facts(Some(Sha256::of(b"x")), Some(b"x"));
        for (mode, in_sync) in [("0644", true), ("0755", false)] {
            for member in found.targets.values_mut() {
                member.access = Access::Mode(mode.parse().unwrap());
            }
            assert_eq!(archive().diff(&found).in_sync(), in_sync, "{mode}");
        }
        let Diff::Changes(changes) = archive().diff(&found) else {
            panic!("another mode");
        };
        assert_eq!(changes[0].to_string(), "access: 0644 0:0 → 0755");
    }

    #[test]
    fn a_member_cannot_leave_the_destination() {
        for to in [
            "../evil",
            r"..\evil",
            "a/../../evil",
            "/evil",
            r"\evil",
            r"C:\evil",
            "C:evil",
            "good.exe:evil",
            r"\\server\evil",
            "",
        ] {
            let mut wanted = archive();
            wanted.members[0].to = to.to_owned();
            assert!(wanted.targets().is_err(), "{to}");
        }
    }

    #[test]
    fn unpack_limits_depend_on_the_size() {
        let mut blob = archive();
        let small = blob.unpack_limits();
        assert_eq!((small.bytes, small.entries), (16 * 1024 * 1024, 4096));
        blob.size = 100_000_000;
        let large = blob.unpack_limits();
        assert_eq!((large.bytes, large.entries), (3_200_000_000, 390_625));
    }
}
