//! A temporary folder with a cluster file, and `casement lock` in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// The catalog has all hashes of 1.36.4 except kubeadm's.
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

/// Path of kubeadm.exe in a mirror.
pub const KUBEADM: &str = "dl.k8s.io/v1.36.4/bin/windows/amd64/kubeadm.exe";

pub struct Workspace(TempDir);

impl Workspace {
    pub fn new() -> Self {
        let workspace = Self(tempfile::tempdir().unwrap());
        workspace.put("cluster.yaml", CLUSTER);
        workspace
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

    /// The names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.path()).unwrap();
        let name = |file: fs::DirEntry| file.file_name().into_string().unwrap();
        let mut names: Vec<_> = files.map(|file| name(file.unwrap())).collect();
        names.sort();
        names
    }

    pub fn lock(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_casement"));
        // Connect to loopback directly even where a proxy is configured.
        command.env("NO_PROXY", "127.0.0.1");
        let command = command.current_dir(self.0.path()).arg("lock").args(args);
        command.output().unwrap()
    }

    /// Returns the JSON output.
    pub fn lock_succeeds(&self, args: &[&str]) -> Value {
        let output = self.lock(&[args, &["-o", "json"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns stderr.
    pub fn lock_fails(&self, args: &[&str], code: i32) -> String {
        let output = self.lock(args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.lines().count() <= 24, "more than a screen: {stderr}");
        stderr
    }
}

/// One artifact of the JSON output.
pub fn artifact<'a>(result: &'a Value, name: &str) -> &'a Value {
    let mut all = result["artifacts"].as_array().unwrap().iter();
    all.find(|artifact| artifact["name"] == name).unwrap()
}
