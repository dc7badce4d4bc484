//! A folder with a cluster file, and what is done in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Of 1.36.4 the catalog knows all hashes but kubeadm's.
const CLUSTER: &str = "\
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.4}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: windows01, address: 10.3.0.4, os: windows-2022}
";

/// kubeadm.exe in a mirror.
pub const KUBEADM: &str = "dl.k8s.io/v1.36.4/bin/windows/amd64/kubeadm.exe";

/// A folder that goes with the test.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.put("cluster.yaml", CLUSTER);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names in the folder itself.
    pub fn names(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.path()).unwrap();
        let name = |file: fs::DirEntry| file.file_name().into_string().unwrap();
        let mut names: Vec<_> = files.map(|file| name(file.unwrap())).collect();
        names.sort();
        names
    }

    pub fn lock(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        // Loopback is asked directly, whatever this machine's way out is.
        command.env("NO_PROXY", "127.0.0.1");
        let command = command.current_dir(self.0.path()).arg("lock").args(words);
        command.output().unwrap()
    }

    /// What a run that goes well says, as a document.
    pub fn locked(&self, words: &[&str]) -> Value {
        let output = self.lock(&[words, &["-o", "json"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What a run that fails says.
    pub fn refused(&self, words: &[&str], code: i32) -> String {
        let output = self.lock(words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.lines().count() <= 24, "more than a screen: {said}");
        said
    }
}

/// One artifact of what was said.
pub fn artifact<'a>(said: &'a Value, name: &str) -> &'a Value {
    let mut all = said["artifacts"].as_array().unwrap().iter();
    all.find(|artifact| artifact["name"] == name).unwrap()
}
