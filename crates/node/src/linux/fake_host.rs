//! Resources that change a whole system, tested on a host in a directory.
//!
//! Tests must not touch the machine that they run on, so these programs are fakes:
//! `modprobe` and `rmmod` with `/proc/modules`, `swapon` and `swapoff` with
//! `/proc/swaps`, `rpm` and `dnf`, `systemctl`, and an `ip` with dummy links. Each keeps
//! its state in the directory and rejects arguments that the real one would not accept.
//! apt and dpkg are real, on a root of their own (`packages_with_apt`), and so is
//! everything else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use casement_resource::{Prior, Resource};
use tempfile::TempDir;

use super::{Linux, SystemRoot};
use crate::kinds::{self, KindContext};
use crate::state::Layout;

mod kernel;
mod packages;
mod units;

struct Host {
    dir: TempDir,
    layout: Layout,
    linux: Linux,
}

impl Host {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        let layout = Layout::new(dir.path().join("state"));
        let linux = Linux {
            layout: layout.clone(),
            root: SystemRoot::below(dir.path()),
        };
        Self { dir, layout, linux }
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file and creates its parent directories.
    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Installs a shell script that finds the host's root in `$ROOT` and logs its
    /// arguments to `calls`. Another process writes it: a program that is open for
    /// writing, even in a child that another test has just forked, cannot be executed.
    fn program(&self, name: &str, script: &str) {
        let root = self.root().display();
        let text = format!(
            "#!/bin/sh\nset -eu\nROOT='{root}'\necho \"{name} $*\" >>\"$ROOT/calls\"\n{script}\n"
        );
        let written = Command::new("sh")
            .args(["-c", r#"printf %s "$1" >"$2" && chmod 755 "$2""#, "sh"])
            .arg(text)
            .arg(self.root().join("bin").join(name))
            .status();
        assert!(written.unwrap().success());
    }

    fn context<'a>(&'a self, secrets: &'a Secrets) -> KindContext<'a> {
        KindContext {
            platform: &self.linux,
            layout: &self.layout,
            stale: false,
            secrets,
        }
    }

    fn in_sync(&self, resource: &Resource) -> bool {
        let secrets = Secrets::new();
        kinds::observe(&self.context(&secrets), resource)
            .unwrap()
            .in_sync()
    }

    /// Applies it as the engine does, and returns the prior state.
    fn apply(&self, resource: &Resource) -> Prior {
        let secrets = Secrets::new();
        let context = self.context(&secrets);
        assert!(!self.in_sync(resource), "{resource:?} is already in sync");
        let prior = kinds::prior(&context, resource).unwrap();
        kinds::apply(&context, resource, &prior, None).unwrap();
        assert!(self.in_sync(resource), "{resource:?} was not applied");
        prior
    }

    /// Restores the prior state twice: the second time must change nothing.
    fn undo(&self, resource: &Resource, prior: &Prior) {
        let secrets = Secrets::new();
        for _ in 0..2 {
            kinds::undo(&self.context(&secrets), resource, prior).unwrap();
        }
    }
}

type Secrets = BTreeMap<casement_resource::SecretName, casement_resource::Secret>;
