//! Version and compatibility tables; every row names its source.
//!
//! The tables are compiled in: no I/O and no clock. `lint`, `plan` and `net` query
//! them, `casement catalog` prints them. Severity is decided by the caller.
//!
//! Small tables are constants, checked by the compiler. Flags, configuration fields
//! and feature gates are text files that `tools/catalog-tables` generates from the
//! sources of every Kubernetes release; tests parse every line.
//!
//! ```
//! use casement_catalog::{Minor, Program, WindowsSupport, flag, pause, windows_support};
//!
//! let minor = Minor::new(36);
//! assert_eq!(pause(minor).map(|pause| pause.tag), Some("3.10.2"));
//! assert_eq!(windows_support(minor, 17763), WindowsSupport::Until(Minor::new(34)));
//! let flag = flag(Program::Kubelet, "network-plugin").expect("a removed flag");
//! assert_eq!(flag.removed_in(), Some(Minor::new(24)));
//! ```

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod artifact;
mod behavior;
mod containerd;
mod feature_gate;
mod field;
mod flag;
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
pub use behavior::{BEHAVIORS, Behavior, BehaviorRow, KUBEADM_APIS, holds, kubeadm_api};
pub use containerd::{
    CONTAINERD_FOR, CONTAINERD_SERIES, ContainerdFit, ContainerdFor, Series, containerd_fit,
    containerd_for, containerd_series, recommended_containerd,
};
pub use feature_gate::{
    FeatureGate, GateChange, GateSetting, GateState, Stage, feature_gate, feature_gates,
};
pub use field::{ConfigField, config_field, config_fields};
pub use flag::{Flag, flag, flags};
pub use hns::{HNS_FEATURES, HnsFeature, HnsFeatureRow, HnsVersion, hns_feature, hns_supports};
pub use image::{IMAGE_RULES, ImageFit, ImageRule, build_of_tag, image_fit};
pub use known::{Known, Program};
pub use minor::{InvalidMinor, Minor, Minors};
pub use patch::{PATCH_FLOORS, PatchFloor, open_faults};
pub use pause::{PAUSES, Pause, pause, pause_of_tag, pause_with_build};
pub use release::Release;
pub use skew::{SKEWS, SkewRule, kube_proxy_range, kubeadm_kubelet_range, kubelet_range};
pub use support::{SUPPORT, SupportRow, WindowsSupport, windows_support};
pub use topic::{Table, Topic};
pub use update::{Fault, Floor, KNOWN_BAD, Purpose, UPDATE_FLOORS, known_faults, update_floors};
pub use windows::{
    Build, InvalidBuild, ServicingChannel, WINDOWS, WindowsRelease, windows_of_build,
    windows_of_os, windows_of_year,
};
