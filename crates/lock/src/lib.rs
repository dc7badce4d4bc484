//! The downloads that a cluster needs, and `casement.lock`, which pins them.
//!
//! [`wanted`] says what a spec needs, [`resolve`] finds the hash of each, and
//! [`Lock`] is the file. Whoever downloads asks the file with [`Lock::gaps`] and
//! takes nothing that it does not pin. This crate fetches and writes nothing: what
//! it has to ask goes through [`Sources`].
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

mod entry;
mod file;
mod mirror;
mod resolve;
mod stored;
mod sums;
#[path = "requirements.rs"]
mod wanted;

pub use entry::{Content, Entry, Origin};
pub use file::{FORM, Gap, Lock, LockError};
pub use mirror::{Mirror, NoMirror, Place};
pub use resolve::{Change, ResolveError, Resolved, Resolver, Sources};
pub use wanted::{NotCovered, Published, Wanted, WantedContent, wanted};
