//! What changes a whole machine, tried on a host that is a folder.
//!
//! Stand-ins, because a test must not touch the machine that it runs on:
//! `modprobe` and `rmmod` with `/proc/modules`, `swapon` and `swapoff` with
//! `/proc/swaps`, `rpm` and `dnf`, `systemctl`, and an `ip` that knows the dummy
//! link. Each keeps its state in the folder and refuses arguments that the real
//! one would not take. Real are apt and dpkg, on a root of their own
//! (`packages_by_apt`), and everything else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use casement_resource::{Prior, Resource};
use tempfile::TempDir;

use super::{Ground, Linux};
use crate::kinds::{self, Place};
use crate::state::Layout;

#[path = "fake_host/kernel.rs"]
mod kernel;
#[path = "fake_host/packages.rs"]
mod packages;
#[path = "fake_host/units.rs"]
mod units;

/// A host in a folder.
struct Host {
    folder: TempDir,
    layout: Layout,
    linux: Linux,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        let layout = Layout::new(folder.path().join("state"));
        let linux = Linux {
            layout: layout.clone(),
            ground: Ground::below(folder.path()),
        };
        Self {
            folder,
            layout,
            linux,
        }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Puts a file there, with its folders.
    fn put(&self, place: &str, text: &str) {
        let path = self.root().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn get(&self, place: &str) -> String {
        fs::read_to_string(self.root().join(place)).unwrap()
    }

    /// A program of this host: a shell script that finds the host's root in
    /// `$ROOT` and notes its arguments in `said`. Another process writes it: a
    /// program that this one is still writing to, be it in a child that another
    /// test has just forked, cannot be run.
    fn program(&self, name: &str, script: &str) {
        let root = self.root().display();
        let text = format!(
            "#!/bin/sh\nset -eu\nROOT='{root}'\necho \"{name} $*\" >>\"$ROOT/said\"\n{script}\n"
        );
        let written = Command::new("sh")
            .args(["-c", r#"printf %s "$1" >"$2" && chmod 755 "$2""#, "sh"])
            .arg(text)
            .arg(self.root().join("bin").join(name))
            .status();
        assert!(written.unwrap().success());
    }

    fn place<'a>(&'a self, secrets: &'a Secrets) -> Place<'a> {
        Place {
            platform: &self.linux,
            layout: &self.layout,
            stale: false,
            secrets,
        }
    }

    fn is_right(&self, resource: &Resource) -> bool {
        let secrets = Secrets::new();
        kinds::look(&self.place(&secrets), resource)
            .unwrap()
            .is_right()
    }

    /// Makes it so, as the engine does, and gives what was there before.
    fn make(&self, resource: &Resource) -> Prior {
        let secrets = Secrets::new();
        let at = self.place(&secrets);
        assert!(!self.is_right(resource), "{resource:?} is there already");
        let prior = kinds::prior(&at, resource).unwrap();
        kinds::change(&at, resource, &prior, None).unwrap();
        assert!(self.is_right(resource), "{resource:?} was not made");
        prior
    }

    /// Takes it back, twice: the second time must change nothing.
    fn undo(&self, resource: &Resource, prior: &Prior) {
        let secrets = Secrets::new();
        for _ in 0..2 {
            kinds::undo(&self.place(&secrets), resource, prior).unwrap();
        }
    }
}

type Secrets = BTreeMap<casement_resource::SecretName, casement_resource::Secret>;
