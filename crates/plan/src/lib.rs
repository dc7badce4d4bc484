//! From a spec and facts to what every host should be.
//!
//! Pure: no clock, no network, no files; the same input gives the same bytes.
//! Some values exist only later (a node's pod network is known after it has
//! joined), so there is one document for each host and [`Stage`], each made when
//! its facts are there.
//!
//! [`Stage`]: casement_resource::Stage

mod facts;
pub mod linux;
mod not_yet;
mod steps;
pub mod windows;

pub use facts::{Blob, ClusterFacts, Inputs, NodeFacts};
pub use not_yet::not_yet;
pub use steps::PlanError;
