//! `casement apply` on the lab's cluster file: nodes become Ready, a second apply changes
//! nothing, drift is found and fixed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{assert_no_token_remains, pod};
use crate::lab_fixture::{Lab, eventually, exclusive, succeed, text};

/// A command on the lab's cluster file.
pub fn casement(lab: &Lab, args: &[&str]) -> Command {
    let mut command = lab.casement();
    command
        .args(args)
        .arg("-f")
        .arg(lab.folder().join("cluster.yaml"));
    command
}

#[test]
#[ignore = "needs root, wine and go"]
fn apply_joins_windows_hosts_and_fixes_drift() {
    let _exclusive = exclusive();
    let lab = Lab::named("apply");
    lab.run(&["up", "--hosts", "2"]);

    configure_prepull(&lab);
    disable_containers_feature(&lab, "win2");
    let planned = succeed(&mut casement(&lab, &["plan"]));
    assert!(
        planned.contains("service kubelet") && planned.contains("known after join"),
        "{planned}"
    );
    let nodes = NodeWatch::start(&lab);
    let done = apply_with_reboot(&lab, "win2");
    assert!(done.contains("win1 and win2 are Ready"), "{done}");
    assert_image_is_present(&lab);

    nodes.assert_tainted_at_creation();
    assert_nodes_are_ready_and_tainted(&lab);
    assert_network_has_the_assigned_pod_cidr(&lab);
    assert_no_token_on_host(&lab);
    assert_pod_runs_and_is_cleaned_up(&lab);

    let again = succeed(&mut casement(&lab, &["apply", "--yes"]));
    assert!(again.starts_with("No changes: "), "{again}");
    let reasons = succeed(&mut casement(&lab, &["plan", "-v"]));
    assert!(
        reasons.contains("Plan: 0 to add, 0 to change, "),
        "{reasons}"
    );

    set_repair_policy(&lab, "report");
    assert_drift_is_found_and_fixed(&lab);
    set_repair_policy(&lab, "auto");
    assert_agent_restores_the_network_after_a_reboot(&lab);
}

/// Adds an image of the lab's registry to `prepull`.
fn configure_prepull(lab: &Lab) {
    let file = lab.folder().join("cluster.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let registry = text.lines().find_map(|line| line.split_once("registry: "));
    let (_, registry) = registry.unwrap();
    let ca = "    ca: ./registry-ca.crt\n";
    let prepull = format!("{ca}    prepull: [{registry}/lab/web:latest]\n");
    fs::write(&file, text.replace(ca, &prepull)).unwrap();
}

fn assert_image_is_present(lab: &Lab) {
    let ctr = r"C:\k\containerd\ctr.exe --address \\.\pipe\containerd-containerd -n k8s.io";
    for host in ["win1", "win2"] {
        let images = lab.cmd(host, &format!("{ctr} images check"));
        let image = images.lines().find(|line| line.contains("/lab/web:latest"));
        assert!(
            image.is_some_and(|line| line.contains(" complete ")),
            "{images}"
        );
    }
}

/// Lab hosts have the feature by default.
fn disable_containers_feature(lab: &Lab, host: &str) {
    let key = r"HKLM\SOFTWARE\casement-lab\features\Containers";
    for value in ["From", "To", "Boot"] {
        lab.cmd(
            host,
            &format!("reg add {key} /v {value} /t REG_DWORD /d 0 /f"),
        );
    }
}

/// Wine accepts a reboot request and stays up, so the lab reboots the host when casement
/// reports that it waits for it.
fn apply_with_reboot(lab: &Lab, host: &str) -> String {
    let mut apply = casement(lab, &["apply", "--yes"]);
    apply.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut apply = apply.spawn().unwrap();
    let mut rebooted = false;
    let waiting = format!("{host}: rebooting for the feature Containers; timeout 40 min");
    for line in BufReader::new(apply.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        println!("{line}");
        if line.contains(&waiting) {
            assert!(!rebooted, "a second reboot");
            rebooted = true;
            lab.run(&["reboot", host, "--off", "1"]);
        }
    }
    let output = apply.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(rebooted, "{host} was not rebooted");
    text(&output)
}

fn set_repair_policy(lab: &Lab, policy: &str) {
    let file = lab.folder().join("cluster.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let (before, _) = text.split_once("  windows:").unwrap_or((&text, ""));
    let changed = format!("{before}  windows: {{repair: {policy}}}\n");
    fs::write(&file, changed).unwrap();
    let plan = succeed(&mut casement(lab, &["plan"]));
    assert!(plan.contains(&format!("→ {policy}")), "{plan}");
    succeed(&mut casement(lab, &["apply", "--yes"]));
    let again = succeed(&mut casement(lab, &["apply", "--yes"]));
    assert!(again.starts_with("No changes: "), "{again}");
}

/// Windows loses routes and forwarding at boot; the agent's service restores them.
fn assert_agent_restores_the_network_after_a_reboot(lab: &Lab) {
    lab.run(&["reboot", "win1", "--off", "1"]);
    eventually("win1 is right again", 120, || {
        let status = casement(lab, &["status"]).output().unwrap();
        println!("{}", text(&status));
        (status.status.code() == Some(0)).then_some(())
    });
    let journals = lab.cmd("win1", r"dir /b C:\ProgramData\casement\journal");
    assert!(journals.contains("repair-"), "{journals}");
    assert_network_has_the_assigned_pod_cidr(lab);
}

fn assert_nodes_are_ready_and_tainted(lab: &Lab) {
    for name in ["win1", "win2"] {
        let taint = serde_json::json!({"key": "os", "value": "windows", "effect": "NoSchedule"});
        // The control plane removes its taints shortly after Ready.
        let node = eventually("only our taint remains, and no cordon", 20, || {
            let node = lab.kubectl(&["get", "node", name, "--output=json"]);
            let node: Value = serde_json::from_str(&node).unwrap();
            let taints = node["spec"]["taints"].as_array().cloned();
            (taints == Some(vec![taint.clone()])).then_some(node)
        });
        let info = &node["status"]["nodeInfo"];
        assert_eq!(info["containerRuntimeVersion"], "containerd://2.4.2");
        assert_eq!(info["kubeletVersion"], "v1.36.3");
        assert_eq!(info["osImage"], "Windows Server 2022 Datacenter");
    }
}

/// Pings from the Linux host's namespace over the routes that casement added.
fn assert_network_has_the_assigned_pod_cidr(lab: &Lab) {
    for name in ["win1", "win2"] {
        let path = "--output=jsonpath={.spec.podCIDR}";
        let network = lab.kubectl(&["get", "node", name, path]);
        let networks = lab.cmd(name, r"C:\lab\hnscall.exe GET /networks/");
        assert!(networks.contains(&network), "{network} in {networks}");
        let conflist = lab.cmd(name, r"type C:\etc\cni\net.d\10-casement.conflist");
        assert!(conflist.contains(&network), "{network} in {conflist}");
        let gateway = network.replace(".0/24", ".1");
        let ping = ["exec", "lin1", "--", "ping", "-c", "1", "-W", "2", &gateway];
        let printed = lab.run(&ping);
        assert!(printed.contains("1 received"), "{printed}");
    }
}

fn assert_no_token_on_host(lab: &Lab) {
    assert_no_token_remains(lab);
    for file in [
        r"C:\etc\kubernetes\bootstrap-kubelet.conf",
        r"C:\k\join.yaml",
    ] {
        let line = format!("if exist {file} exit 1");
        lab.cmd("win1", &line);
    }
}

/// `kubectl get nodes --watch` in the background.
struct NodeWatch {
    kubectl: Child,
    events: PathBuf,
    _folder: tempfile::TempDir,
}

impl NodeWatch {
    fn start(lab: &Lab) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let events = folder.path().join("events");
        let format = "--output=jsonpath={.object.metadata.name} {.object.spec.taints}{\"\\n\"}";
        let args = ["exec", "control-plane", "--", "kubectl", "get", "nodes"];
        let watch = ["--watch", "--output-watch-events", format];
        let mut command = lab.command(&[&args[..], &watch].concat());
        let file = fs::File::create(&events).unwrap();
        let kubectl = command.stdout(file).spawn().unwrap();
        eventually("the watch has started", 20, || {
            let text = fs::read_to_string(&events).unwrap();
            text.contains("lin1").then_some(())
        });
        Self {
            kubectl,
            events,
            _folder: folder,
        }
    }

    fn assert_tainted_at_creation(mut self) {
        self.kubectl.kill().unwrap();
        self.kubectl.wait().unwrap();
        let text = fs::read_to_string(&self.events).unwrap();
        for name in ["win1", "win2"] {
            let first = text.lines().find(|line| line.starts_with(name));
            let first = first.unwrap_or_else(|| panic!("no {name} in {text}"));
            let ours = r#"{"effect":"NoSchedule","key":"os","value":"windows"}"#;
            assert!(first.contains(ours), "{first}");
        }
    }
}

fn assert_pod_runs_and_is_cleaned_up(lab: &Lab) {
    let manifest = pod::pod("web", &lab.address("control-plane"), false) + pod::SERVICE;
    pod::apply(lab, &manifest);
    let running = pod::running_pod(lab, "web");
    let host = running["spec"]["nodeName"].as_str().unwrap();
    let path = "--output=jsonpath={.spec.podCIDR}";
    let network = lab.kubectl(&["get", "node", host, path]);
    let address = running["status"]["podIP"].as_str().unwrap();
    assert!(
        address.starts_with(network.trim_end_matches("0/24")),
        "{address} in {network}"
    );
    assert!(lab.kubectl(&["logs", "web"]).contains("listens on port 80"));
    let url = format!("http://{address}/");
    let page = lab.run(&["exec", "lin1", "--", "curl", "-sS", "--max-time", "5", &url]);
    assert!(page.contains("answers"), "{page}");
    eventually(
        "the real kube-proxy has created its load balancers",
        60,
        || {
            let lists = lab.cmd(host, r"C:\lab\hnscall.exe GET /policylists/");
            lists.contains("10.96.0.1").then_some(())
        },
    );
    lab.kubectl(&["delete", "pod,service", "web", "--timeout=60s"]);
    pod::assert_no_pod_endpoints(lab, host);
}

/// `status`, `doctor` and `plan` report exactly the drifted resource, and `apply` fixes it.
fn assert_drift_is_found_and_fixed(lab: &Lab) {
    let environment = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
    let without_path = format!(
        r#"reg add "{environment}" /v PATH /t REG_EXPAND_SZ /d "%SystemRoot%\system32;%SystemRoot%" /f"#
    );
    let without_exclusion = r#"reg delete "HKLM\SOFTWARE\Policies\Microsoft\Windows Defender\Exclusions\Paths" /v C:\k /f"#;
    let without_rules = r"reg delete HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules /va /f";
    let networks = lab.cmd("win1", r"C:\lab\hnscall.exe GET /networks/");
    let networks: Value = serde_json::from_str(&networks).unwrap();
    let mut networks = networks["Output"].as_array().unwrap().iter();
    let ours = networks.find(|network| network["Name"] == "cbr0").unwrap();
    let delete_network = format!(
        r"C:\lab\hnscall.exe DELETE /networks/{}",
        ours["ID"].as_str().unwrap()
    );
    let healthy = succeed(&mut casement(lab, &["doctor"]));
    assert!(healthy.contains("No problems found"), "{healthy}");
    let edited = r"echo x> C:\etc\cni\net.d\10-casement.conflist";
    let cases = [
        ("a file", edited, 1, "CAS-DOC-015"),
        ("a service", "sc stop kube-proxy", 1, "CAS-DOC-015"),
        ("the kubelet", "sc stop kubelet", 1, "CAS-DOC-004"),
        ("a registry value", without_path.as_str(), 1, "CAS-DOC-015"),
        ("a Defender exclusion", without_exclusion, 1, "CAS-DOC-015"),
        ("a firewall rule", without_rules, 1, "CAS-DOC-015"),
        // Deleting a network also deletes its endpoints and their adapter.
        ("a network", delete_network.as_str(), 3, "CAS-DOC-006"),
    ];
    for (what, line, count, code) in cases {
        let _ = lab.ssh("Administrator", "win1", line).output();
        let status = eventually(&format!("{what} has drifted"), 30, || {
            let status = casement(lab, &["status"]).output().unwrap();
            (status.status.code() == Some(4)).then_some(status)
        });
        let printed = text(&status);
        assert!(
            printed.contains("win1") && printed.contains("drifted"),
            "{what}: {printed}"
        );
        let doctor = casement(lab, &["doctor"]).output().unwrap();
        let printed = text(&doctor);
        assert_eq!(doctor.status.code(), Some(5), "{what}: {printed}");
        let causes = printed.matches("error[").count();
        assert!(printed.contains(code) && causes == 1, "{what}: {printed}");
        let plan = succeed(&mut casement(lab, &["plan"]));
        assert_eq!(pending(&plan), count, "{what}, and nothing else: {plan}");
        succeed(&mut casement(lab, &["apply", "--yes"]));
        let status = casement(lab, &["status"]).output().unwrap();
        assert_eq!(status.status.code(), Some(0), "{what}: {}", text(&status));
    }
}

/// How many steps a plan adds, changes or removes.
fn pending(plan: &str) -> usize {
    let summary = plan.lines().find_map(|line| line.strip_prefix("Plan: "));
    let parts = summary.unwrap().split(", ");
    let parts = parts.filter_map(|part| part.split_once(" to "));
    parts
        .map(|(count, _)| count.parse::<usize>().unwrap())
        .sum()
}
