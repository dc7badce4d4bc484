//! Windows' host compute network (HNS) as two small, safe interfaces: [`Hcn`]
//! over `computenetwork.dll` and [`Hns`] over `vmcompute.dll!HNSCall`; and
//! [`destroy_layer`], which only the host compute service can do.
//!
//! Both libraries come with the Windows feature `Containers`, so a program that
//! imports them does not even start on a host without it. Here they are loaded
//! when they are asked for, from the system's own folder only, and their
//! absence is a value: [`HcnError::Absent`].
//!
//! Documents go in and come out as JSON; this crate knows their envelope (ids,
//! error records), not their meaning. Elsewhere than on Windows it has the same
//! interface and every library is absent.
//!
//! ```
//! use casement_hcn::{Hcn, Kind, by_name};
//!
//! match Hcn::load() {
//!     Ok(hcn) => println!("{:?}", hcn.enumerate(Kind::Network, &by_name("cbr0"))),
//!     Err(error) => println!("{error}: {}", error.remedy().unwrap_or_default()),
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
#[path = "stub.rs"]
mod absent;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
use absent as platform;
#[cfg(windows)]
use windows as platform;

pub use error::{HcnError, code};
pub use guid::Guid;
pub use hcn::{Hcn, by_id, by_name, by_network, everything};
pub use hns::{Hns, Method};
pub use kind::Kind;
pub use layer::destroy_layer;
