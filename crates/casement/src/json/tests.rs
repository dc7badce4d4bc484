//! Keeps the examples of `docs/reference/json-output.md` current.
//!
//! `BLESS=1 cargo test -p casement --bin casement json` writes them. A change of an example
//! that is not an addition breaks programs that read the output.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use casement_cluster::{ObjectRef, SamplePart, SampleService, SampleStatus};
use casement_lint::{Report as LintReport, Text, Texts};
use casement_report::record::Record;
use casement_report::{Action, ObjectChange};
use casement_resource::{Change, Code, Diff, Env, Failure, Resource, Step as DocumentStep};
use casement_run::read_only::{Setting, commands};
use clap::CommandFactory as _;
use serde_json::json;

use super::*;
use crate::verbs::lock::print::{LockDocument, LockedArtifact};

fn problem() -> Problem {
    Problem::new(
        "CAS-SSH-005",
        "connection refused by windows3 (198.18.0.13:22)",
        "start the service `sshd` on the host",
    )
    .detail("cause", "Connection refused (os error 111)")
}

fn step(host: &str, id: &str, identity: &str, result: Result<Diff, Failure>) -> HostStep {
    HostStep {
        host: host.to_owned(),
        stage: Stage::Prepare,
        step: Step::observed(&id.parse().unwrap(), identity, &result),
        disruptive: false,
    }
}

fn failure() -> Failure {
    let failure = Failure::new(
        Code::ServiceFailed,
        "the service kubelet stopped 2 s after its start",
        "read its log with `casement logs windows1 kubelet`",
    );
    failure.values("running", "stopped, exit code 1")
}

fn object(field: Option<&str>, note: Option<&str>, outage: Option<&str>) -> ObjectChange {
    ObjectChange {
        api_version: "apps/v1".to_owned(),
        kind: "DaemonSet".to_owned(),
        namespace: Some("kube-system".to_owned()),
        name: "kube-proxy".to_owned(),
        action: Action::Change,
        field: field.map(str::to_owned),
        note: note.map(str::to_owned),
        outage: outage.map(str::to_owned),
    }
}

fn read_only() -> Vec<ReadOnlyHost> {
    let name = "net.bridge.bridge-nf-call-iptables";
    let drifted = ReadOnlyHost {
        host: "linux1".to_owned(),
        drifted: vec![Setting {
            name,
            found: Some("0".to_owned()),
            expected: "1",
            commands: commands(name, "1", true),
        }],
        error: None,
    };
    let unknown = ReadOnlyHost {
        host: "linux2".to_owned(),
        drifted: Vec::new(),
        error: Some(problem()),
    };
    vec![drifted, unknown]
}

fn drifted() -> HostStep {
    let changes = vec![Change::field("clusterDNS", "10.96.0.2", "10.96.0.10")];
    let result = Ok(Diff::Changes(changes));
    step(
        "windows1",
        "kubelet-config",
        r"file C:\k\kubelet.yaml",
        result,
    )
}

fn plan() -> Plan {
    let in_sync = Diff::InSync {
        reason: "running since 2030-01-02 03:04:05".to_owned(),
        unobserved: vec!["description".to_owned()],
    };
    let windows1 = PlanHost {
        name: "windows1".to_owned(),
        system: Some("Windows Server 2022 Datacenter".to_owned()),
        steps: vec![
            drifted(),
            step(
                "windows1",
                "service-containerd",
                "service containerd",
                Ok(in_sync),
            ),
            step("windows1", "hns-network", "hnsNetwork cbr0", Err(failure())),
        ],
        known_after_join: vec![Stage::Network],
        ..PlanHost::default()
    };
    let windows3 = PlanHost {
        name: "windows3".to_owned(),
        error: Some(problem()),
        ..PlanHost::default()
    };
    let selector = "/spec/template/spec/nodeSelector/kubernetes.io~1os";
    let restart = object(
        None,
        Some("restart all pods, with VNI 4096"),
        Some("all pods lose the network for about a minute"),
    );
    let mut summary = Counts::default();
    for action in [Action::Change, Action::None, Action::Unknown] {
        summary.count(action);
    }
    Plan {
        offline: false,
        hosts: vec![windows1, windows3],
        read_only: read_only(),
        cluster: vec![
            PlannedObject {
                change: object(Some(selector), None, None),
                before: Some(json!("")),
                after: Some(json!("linux")),
            },
            PlannedObject {
                change: restart,
                before: None,
                after: None,
            },
        ],
        summary,
    }
}

fn offline_plan() -> Plan {
    let id = "env-path".parse().unwrap();
    let resource = Resource::Env(Env {
        name: "KUBE_NETWORK".to_owned(),
        value: "cbr0".to_owned(),
    });
    let host_step = HostStep {
        disruptive: true,
        host: "windows1".to_owned(),
        stage: Stage::Prepare,
        step: Step::new(&id, &resource.identity(), Action::Create),
    };
    let document_step = DocumentStep {
        id,
        after: Vec::new(),
        disruptive: true,
        resource,
    };
    let document = NodeDocument::new("windows1".to_owned(), Stage::Prepare, vec![document_step]);
    let mut summary = Counts::default();
    summary.count(Action::Create);
    let host = PlanHost {
        name: "windows1".to_owned(),
        steps: vec![host_step],
        known_after_join: vec![Stage::Network],
        programs_without_hash: vec!["kubeadm".to_owned()],
        documents: vec![document.unwrap()],
        ..PlanHost::default()
    };
    Plan {
        offline: true,
        hosts: vec![host],
        read_only: Vec::new(),
        cluster: Vec::new(),
        summary,
    }
}

fn status() -> Status {
    let host = |name: &str, node, status| HostStatus {
        name: name.to_owned(),
        system: "Windows Server 2022 Datacenter".to_owned(),
        node,
        status,
        drift: Vec::new(),
        known_after_join: Vec::new(),
        error: None,
    };
    Status {
        hosts: vec![
            HostStatus {
                drift: vec![drifted()],
                ..host("windows1", "Ready", SyncStatus::Drifted)
            },
            HostStatus {
                known_after_join: vec![Stage::Network],
                ..host("windows2", "none", SyncStatus::Drifted)
            },
            HostStatus {
                system: String::new(),
                error: Some(problem()),
                ..host("windows3", "NotReady", SyncStatus::Unknown)
            },
            HostStatus {
                system: "linux".to_owned(),
                ..host("linux1", "Ready", SyncStatus::ReadOnly)
            },
        ],
    }
}

/// A run from a record that has every kind of step.
fn report(verb: &str) -> RunReport {
    let record = |name: &str| {
        let file = root().join("crates/casement/src/json/example").join(name);
        let text = fs::read_to_string(file).unwrap();
        text.replace("VERB", verb).into_bytes()
    };
    let (plan, events) = (record("plan.jsonl"), record("events.jsonl"));
    let record = Record::parse(&plan, &events, Some(&record("summary.json"))).unwrap();
    RunReport {
        run: Run::of(&record),
        record: Some(".casement/runs/2030-01-02T03-04-05Z-r1893553445-4711".to_owned()),
        error: None,
    }
}

fn apply() -> Apply {
    Apply {
        report: report("apply"),
        read_only: read_only(),
    }
}

fn join() -> Join {
    Join {
        joined: Joined {
            file: ".casement/join/win-0-12.yaml".to_owned(),
            cluster: json!({"apiVersion": "casement.dev/v1alpha1", "kind": "Cluster"}),
        },
        apply: Apply {
            read_only: Vec::new(),
            ..apply()
        },
    }
}

fn reset() -> Reset {
    let field = |name: &str, result| RestoredField {
        object: ObjectRef::new("apps/v1", "DaemonSet", Some("kube-system"), name),
        field: "/spec/template/spec/nodeSelector".to_owned(),
        result,
        expected: None,
        found: None,
    };
    Reset {
        report: RunReport {
            error: Some(problem()),
            ..report("reset")
        },
        restored: Some(vec![
            field("kube-proxy", RestoreResult::Restored),
            RestoredField {
                expected: Some(json!({"kubernetes.io/os": "linux"})),
                found: Some(json!({"disk": "fast"})),
                ..field("node-exporter", RestoreResult::Kept)
            },
        ]),
    }
}

fn doctor() -> Doctor {
    let finding = |host: Option<&str>, error| DoctorFinding {
        host: host.map(str::to_owned),
        error,
    };
    let missing = Problem::new(
        "CAS-DOC-006",
        "the HNS network `cbr0` is missing on windows1; HNS does not keep it across reboots",
        "run `casement apply` to create it",
    );
    let missing = missing.detail("expected", "cbr0");
    let missing = missing.detail("found", "no network with this name");
    Doctor {
        hosts: vec!["windows1".to_owned(), "windows3".to_owned()],
        findings: vec![
            finding(Some("windows1"), missing),
            finding(Some("windows3"), problem()),
        ],
    }
}

fn lint() -> Lint {
    let file = "net-conf.json".to_owned();
    let conf = br#"{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan", "VNI": 1}}"#;
    let texts = Texts {
        spec: None,
        files: vec![Text {
            name: file.clone(),
            bytes: conf.to_vec(),
        }],
    };
    let report = LintReport::new(&texts);
    let sources = report.sources();
    let sources = casement_diag::Sources::new(&sources);
    let first = report.findings.get(..1).unwrap();
    Lint {
        files: vec![file],
        findings: casement_diag::json_with_sources(first, sources),
    }
}

fn catalog() -> Catalog {
    let cells = [
        "kubelet",
        "--network-plugin",
        "1.24",
        "https://kubernetes.io/",
    ];
    Catalog {
        topic: Some("flags"),
        rows: casement_catalog::Table {
            columns: &["program", "flag", "removed in", "source"],
            rows: vec![cells.map(str::to_owned).to_vec()],
        },
    }
}

fn lock() -> LockDocument {
    let sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned();
    let url = "https://dl.k8s.io/v1.36.3/bin/windows/amd64/kubelet.exe".to_owned();
    let published = LockedArtifact {
        name: "kubelet".to_owned(),
        system: "windows",
        sha256: sha256.clone(),
        from: "download",
        source: format!("{url}.sha256"),
        unverified: true,
        change: "new",
        version: Some("1.36.3".to_owned()),
        url: Some(url),
        file: None,
    };
    let own = LockedArtifact {
        name: "kubeadm".to_owned(),
        system: "windows",
        sha256,
        from: "file",
        source: "windows/kubeadm.exe".to_owned(),
        unverified: false,
        change: "kept",
        version: None,
        url: None,
        file: Some("windows/kubeadm.exe".to_owned()),
    };
    LockDocument {
        lock: "casement.lock".to_owned(),
        written: true,
        artifacts: vec![published, own],
        dropped: vec!["kubectl (windows)".to_owned()],
    }
}

fn sample() -> Sample {
    let part = SamplePart {
        name: "casement-sample-windows-2022".to_owned(),
        wanted: 1,
        ready: 0,
        nodes: vec!["windows1".to_owned()],
        reason: "ContainerCreating".to_owned(),
    };
    let service = SampleService {
        name: "casement-sample-windows".to_owned(),
        kind: "NodePort".to_owned(),
        cluster_ip: "10.96.12.34".to_owned(),
        node_port: Some(30080),
        addresses: Vec::new(),
    };
    Sample {
        status: SampleStatus {
            parts: vec![part],
            services: vec![service],
        },
    }
}

#[cfg(all(unix, feature = "lab"))]
fn lab() -> Lab {
    Lab {
        name: "default".to_owned(),
        folder: "/home/anna/.local/state/casement/lab/default".to_owned(),
        hosts: vec![casement_lab::status::HostStatus {
            name: "win1".to_owned(),
            address: [198, 18, 0, 11].into(),
            system: "Windows Server 2022 (10.0.20348.3807)".to_owned(),
            state: "on",
            boots: 1,
            pid: Some(4711),
            ended: Vec::new(),
        }],
    }
}

/// Each with the heading of its section.
fn examples() -> Vec<(&'static str, String)> {
    let error = problem();
    vec![
        ("Error", text(&Failed { error: &error })),
        ("Plan", text(&plan())),
        ("Plan, offline", text(&offline_plan())),
        ("Status", text(&status())),
        ("Apply", text(&apply())),
        ("Join", text(&join())),
        ("Reset", text(&reset())),
        (
            "Report",
            text(&Report {
                report: report("apply"),
            }),
        ),
        ("Doctor", text(&doctor())),
        ("Lint", text(&lint())),
        ("Catalog", text(&catalog())),
        ("Lock", text(&lock())),
        ("SampleStatus", text(&sample())),
        #[cfg(all(unix, feature = "lab"))]
        ("LabStatus", text(&lab())),
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> PathBuf {
    root().join("docs/reference/json-output.md")
}

/// The first JSON block below a heading: where it is in the text.
fn block(page: &str, heading: &str) -> Option<std::ops::Range<usize>> {
    const FENCE: &str = "```json\n";
    let section = page.find(&format!("\n### {heading}\n"))? + 1;
    let start = section + page.get(section..)?.find(FENCE)? + FENCE.len();
    let end = start + page.get(start..)?.find("```")?;
    Some(start..end)
}

#[test]
fn documentation_has_a_current_example_of_every_kind() {
    let mut page_text = fs::read_to_string(page()).unwrap();
    let bless = std::env::var_os("BLESS").is_some();
    for (heading, example) in examples() {
        let range = block(&page_text, heading);
        let range = range.unwrap_or_else(|| panic!("no section `{heading}` with an example"));
        if bless {
            page_text.replace_range(range, &example);
            fs::write(page(), &page_text).unwrap();
        } else {
            let help = "run `BLESS=1 cargo test -p casement --bin casement json`";
            assert_eq!(page_text[range], example, "{heading}: {help}");
        }
    }
}

/// Verbs with `-o json`, at any depth.
fn json_verbs(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    let has_json = |argument: &clap::Arg| {
        let mut values = argument.get_possible_values().into_iter();
        argument.get_id() == "output" && values.any(|value| value.get_name() == "json")
    };
    if command.get_arguments().any(has_json) {
        found.push(path.to_owned());
    }
    for verb in command.get_subcommands() {
        json_verbs(verb, &format!("{path} {}", verb.get_name()), found);
    }
}

#[test]
fn documentation_lists_every_verb_with_json_output_and_its_kind() {
    let mut verbs = Vec::new();
    json_verbs(&crate::Arguments::command(), "casement", &mut verbs);
    let page = fs::read_to_string(page()).unwrap();
    let rows = page.lines().filter_map(|line| {
        let (verb, kind) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((verb.to_owned(), kind.split_once(" |")?.0.to_owned()))
    });
    let rows: BTreeMap<String, String> = rows.collect();
    for verb in &verbs {
        let kind = rows
            .get(verb)
            .unwrap_or_else(|| panic!("`{verb}` is not in the table"));
        let named = kind.rsplit_once('#').map_or("", |(_, anchor)| anchor);
        let sections = page.lines().filter_map(|line| line.strip_prefix("### "));
        let anchors = sections.map(|it| it.to_lowercase().replace(", ", "-"));
        let known = anchors
            .clone()
            .any(|anchor| named.trim_end_matches(')') == anchor);
        assert!(known, "`{verb}`: `{kind}` links to no section");
    }
    assert!(
        verbs.contains(&"casement sample status".to_owned()),
        "{verbs:?}"
    );
    let is_built = |verb: &&String| {
        let lab = cfg!(all(unix, feature = "lab"));
        verb.starts_with("casement ") && (lab || !verb.starts_with("casement lab "))
    };
    for verb in rows.keys().filter(is_built) {
        assert!(verbs.contains(verb), "`{verb}` has no `-o json`");
    }
}

#[test]
fn the_kinds_of_documents_are_distinct_and_their_fields_in_camel_case() {
    for (heading, example) in examples() {
        let document: Value = serde_json::from_str(&example).unwrap();
        assert_eq!(document["apiVersion"], API_VERSION);
        let kind = heading.split(',').next().unwrap();
        assert_eq!(document["kind"], kind);
        assert_camel_case(&document, heading);
    }
}

/// Keys that the spec or Kubernetes name are not ours.
fn assert_camel_case(value: &Value, path: &str) {
    match value {
        Value::Object(fields) if !path.ends_with(".found") && !path.ends_with(".expected") => {
            for (key, value) in fields {
                let first = key.chars().next().unwrap();
                let plain = first.is_ascii_lowercase() && key.chars().all(char::is_alphanumeric);
                assert!(plain, "{path}.{key}");
                assert_camel_case(value, &format!("{path}.{key}"));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| assert_camel_case(item, path)),
        _ => {}
    }
}
