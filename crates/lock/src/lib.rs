//! The downloads of a cluster, and `casement.lock`, which pins them.
//!
//! [`requirements()`] lists what a spec needs, [`Resolver`] finds the hashes, and
//! [`Lock`] is the file. Downloaders call [`Lock::gaps`] first and only fetch what is
//! pinned. This crate does no I/O: it goes through [`ArtifactSource`].
//!
//! ```
//! use casement_lock::Lock;
//!
//! let lock: Lock = r#"
//!     version = 1
//!
//!     [[artifact]]
//!     name = "kubelet"
//!     system = "windows"
//!     version = "1.36.4"
//!     url = "https://dl.k8s.io/v1.36.4/bin/windows/amd64/kubelet.exe"
//!     sha256 = "dbb90c2e2028c60ce068049a27edd4bfc19d197c4e7ab2e39cf96002e3f99782"
//!     from = "catalog"
//!     source = "rancher/rke2:Dockerfile.windows"
//! "#.parse()?;
//! assert_eq!(lock.entries().count(), 1);
//! # Ok::<(), casement_lock::LockError>(())
//! ```

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod entry;
mod file;
mod mirror;
mod requirements;
mod resolve;
mod stored;
mod sums;

pub use entry::{Content, Entry, Origin};
pub use file::{FORMAT_VERSION, Gap, Lock, LockError};
pub use mirror::{FileLocation, InvalidMirror, Mirror};
pub use requirements::{NotCovered, Published, RequiredContent, Requirement, requirements};
pub use resolve::{ArtifactSource, Change, ResolveError, Resolved, Resolver};
