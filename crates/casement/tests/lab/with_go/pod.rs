//! Pods of the lab's web image.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::lab_fixture::{Lab, eventually};

/// `kubectl get ARGS`, parsed.
pub fn get(lab: &Lab, args: &[&str]) -> Value {
    let text = lab.kubectl(&[&["get"], args, &["--output=json"]].concat());
    serde_json::from_str(&text).unwrap()
}

/// A manifest with the lab's web image; `token` mounts the service account token.
pub fn pod(name: &str, registry: &str, token: bool) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{app: {name}}}}}
spec:
  automountServiceAccountToken: {token}
  nodeSelector: {{kubernetes.io/os: windows}}
  tolerations: [{{key: os, value: windows, effect: NoSchedule}}]
  containers:
  - name: web
    image: {registry}:5000/lab/web:latest
    ports: [{{containerPort: 80}}]
"
    )
}

pub const SERVICE: &str = "---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
";

pub fn apply(lab: &Lab, text: &str) {
    let args = [
        "exec",
        "control-plane",
        "--",
        "kubectl",
        "apply",
        "--filename=-",
    ];
    let mut apply = lab.command(&args).stdin(Stdio::piped()).spawn().unwrap();
    apply
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    assert!(apply.wait().unwrap().success());
}

/// Waits until a pod runs and is ready.
pub fn running_pod(lab: &Lab, name: &str) -> Value {
    eventually("the pod is Running", 60, || {
        let pod = get(lab, &["pod", name]);
        let ready = pod["status"]["containerStatuses"][0]["ready"] == true;
        (pod["status"]["phase"] == "Running" && ready).then_some(pod)
    })
}

/// Ignores the endpoints of the gateway and of other hosts.
pub fn assert_no_pod_endpoints(lab: &Lab, host: &str) {
    eventually("the endpoints of pods are removed", 30, || {
        let answer = lab.cmd(host, r"C:\lab\hnscall.exe GET /endpoints/");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let endpoints = answer["Output"].as_array().unwrap();
        let pods = endpoints.iter().filter(|endpoint| {
            endpoint["IsRemoteEndpoint"] != true && endpoint["Name"] != "cbr0_ep"
        });
        (pods.count() == 0).then_some(())
    });
}
