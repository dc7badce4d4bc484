//! Safe bindings for the Windows host compute network (HNS): [`Hcn`] for
//! `computenetwork.dll`, [`Hns`] for `vmcompute.dll!HNSCall`, and [`destroy_layer`],
//! which only the host compute service can do.
//!
//! Both libraries are part of the Windows feature `Containers`; a program that imports
//! them would not start without it. They are loaded on demand, only from the system
//! folder, and a missing one is [`HcnError::MissingLibrary`].
//!
//! Documents are JSON; this crate knows their envelope (ids, error records), not their
//! meaning. On other platforms the interface is the same and every library is missing.
//!
//! ```
//! use casement_hcn::{Hcn, Kind, by_name};
//!
//! match Hcn::load() {
//!     Ok(hcn) => println!("{:?}", hcn.enumerate(Kind::Network, &by_name("cbr0"))),
//!     Err(error) => println!("{error}: {}", error.help().unwrap_or_default()),
//! }
//! ```

mod error;
mod guid;
mod hcn;
mod hns;
mod kind;
mod layer;
mod record;

#[cfg(not(windows))]
mod stub;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
use stub as platform;
#[cfg(windows)]
use windows as platform;

pub use error::{HcnError, code};
pub use guid::Guid;
pub use hcn::{Hcn, by_id, by_name, by_network, everything};
pub use hns::{Hns, Method};
pub use kind::Kind;
pub use layer::destroy_layer;
