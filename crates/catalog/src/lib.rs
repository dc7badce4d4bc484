//! What goes with what: tables of versions and compatibility, each row with the
//! place that says so.
//!
//! The tables are part of the program: nothing is read, fetched or computed from
//! a clock. They answer questions of `lint`, `plan` and `net`, and
//! `casement catalog` prints them. They hold no rules: whether a finding is an
//! error is for the one who asks.
//!
//! Small tables are constants, so that a slip in them does not compile. Flags,
//! configuration fields and feature gates, hundreds of each, are text that `tools/catalog-tables` writes
//! from the sources of every Kubernetes release; tests read every line.
//!
//! ```
//! use casement_catalog::{Minor, Program, WindowsSupport, flag, pause, windows_support};
//!
//! let minor = Minor::new(36);
//! assert_eq!(pause(minor).map(|pause| pause.tag), Some("3.10.2"));
//! assert_eq!(windows_support(minor, 17763), WindowsSupport::Until(Minor::new(34)));
//! let flag = flag(Program::Kubelet, "network-plugin").expect("it was there once");
//! assert_eq!(flag.removed_in(), Some(Minor::new(24)));
//! ```

mod artifact;
#[path = "behavior.rs"]
mod behaviour;
mod containerd;
mod field;
mod flag;
#[path = "feature_gate.rs"]
mod gate;
mod hns;
mod image;
mod known;
mod minor;
mod patch;
mod pause;
mod release;
mod skew;
mod support;
mod topic;
mod update;
mod windows;

pub use artifact::{
    ARTIFACTS, Artifact, HASHES, KnownHash, Numbering, Packing, Sums, System, artifact, known_hash,
};
pub use behaviour::{BEHAVIOURS, Behaviour, BehaviourRow, KUBEADM_APIS, holds, kubeadm_api};
pub use containerd::{
    CONTAINERD_FOR, CONTAINERD_SERIES, ContainerdFit, ContainerdFor, Series, containerd_fit,
    containerd_for, containerd_series, recommended_containerd,
};
pub use field::{ConfigField, config_field, config_fields};
pub use flag::{Flag, flag, flags};
pub use gate::{Gate, GateChange, GateSetting, GateState, Stage, gate, gates};
pub use hns::{HNS_FEATURES, HnsFeature, HnsGate, HnsVersion, hns_gate, hns_supports};
pub use image::{IMAGE_RULES, ImageFit, ImageRule, build_of_tag, image_fit};
pub use known::{Known, Program};
pub use minor::{Minor, Minors, NoMinor};
pub use patch::{PATCH_FLOORS, PatchFloor, open_faults};
pub use pause::{PAUSES, Pause, pause, pause_of_tag, pause_with_build};
pub use release::Release;
pub use skew::{SKEWS, SkewRule, kube_proxy_range, kubeadm_kubelet_range, kubelet_range};
pub use support::{SUPPORT, SupportRow, WindowsSupport, windows_support};
pub use topic::{Table, Topic};
pub use update::{Fault, Floor, KNOWN_BAD, Purpose, UPDATE_FLOORS, known_faults, update_floors};
pub use windows::{
    Build, Channel, NoBuild, WINDOWS, WindowsRelease, windows_of_build, windows_of_year,
};
