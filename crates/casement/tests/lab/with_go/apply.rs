//! `casement apply` on the file that the lab wrote: nodes, Ready, again nothing
//! to do, drift found and mended.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{assert_no_token_left, pod};
use crate::machine::{Lab, alone, eventually, succeed, text};

/// A verb on the file that the lab wrote.
pub fn verb(lab: &Lab, words: &[&str]) -> Command {
    let mut command = lab.casement();
    command
        .args(words)
        .arg("-f")
        .arg(lab.folder().join("cluster.yaml"));
    command
}

#[test]
#[ignore = "needs root, wine and go"]
fn apply_makes_windows_hosts_ready_nodes_and_mends_what_drifted() {
    let _alone = alone();
    let lab = Lab::named("apply");
    lab.run(&["up", "--hosts", "2"]);

    images_are_pulled_before(&lab);
    without_containers(&lab, "win2");
    let planned = succeed(&mut verb(&lab, &["plan"]));
    assert!(
        planned.contains("service kubelet") && planned.contains("known after join"),
        "{planned}"
    );
    let nodes = NodesSeen::watch(&lab);
    let done = applied_over_a_reboot(&lab, "win2");
    assert!(done.contains("win1 and win2 are Ready"), "{done}");
    the_image_is_there(&lab);

    nodes.were_tainted_from_the_first_moment();
    nodes_are_ready_and_tainted(&lab);
    the_network_is_the_one_that_the_control_plane_gave(&lab);
    no_token_is_left(&lab);
    a_pod_runs_and_leaves_nothing(&lab);

    let again = succeed(&mut verb(&lab, &["apply", "--yes"]));
    assert!(again.starts_with("Nothing to do"), "{again}");
    let reasons = succeed(&mut verb(&lab, &["plan", "-v"]));
    assert!(reasons.contains("0 to make or change"), "{reasons}");

    repairs(&lab, "report");
    drift_is_found_and_mended(&lab);
    repairs(&lab, "auto");
    after_a_reboot_the_network_is_back_without_a_person(&lab);
}

/// Asks for an image of the lab's own registry.
fn images_are_pulled_before(lab: &Lab) {
    let file = lab.folder().join("cluster.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let registry = text.lines().find_map(|line| line.split_once("registry: "));
    let (_, registry) = registry.unwrap();
    let ca = "    ca: ./registry-ca.crt\n";
    let prepull = format!("{ca}    prepull: [{registry}/lab/web:latest]\n");
    fs::write(&file, text.replace(ca, &prepull)).unwrap();
}

fn the_image_is_there(lab: &Lab) {
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

/// Hosts of the lab have the feature from the start; this one loses it.
fn without_containers(lab: &Lab, host: &str) {
    let key = r"HKLM\SOFTWARE\casement-lab\features\Containers";
    for value in ["From", "To", "Boot"] {
        lab.cmd(
            host,
            &format!("reg add {key} /v {value} /t REG_DWORD /d 0 /f"),
        );
    }
}

/// Wine says yes to a reboot and stays up: the lab does it when casement says
/// that it waits for one.
fn applied_over_a_reboot(lab: &Lab, host: &str) -> String {
    let mut apply = verb(lab, &["apply", "--yes"]);
    apply.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut apply = apply.spawn().unwrap();
    let mut rebooted = false;
    let waits = format!("{host}: reboots for the feature Containers; it has 40 minutes");
    for line in BufReader::new(apply.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        println!("{line}");
        if line.contains(&waits) {
            assert!(!rebooted, "one reboot is enough");
            rebooted = true;
            lab.run(&["reboot", host, "--off", "1"]);
        }
    }
    let output = apply.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(rebooted, "{host} was not rebooted");
    text(&output)
}

/// Changes what the agents do about drift, and nothing else.
fn repairs(lab: &Lab, policy: &str) {
    let file = lab.folder().join("cluster.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let (before, _) = text.split_once("  windows:").unwrap_or((&text, ""));
    let changed = format!("{before}  windows: {{repair: {policy}}}\n");
    fs::write(&file, changed).unwrap();
    let plan = succeed(&mut verb(lab, &["plan"]));
    assert!(plan.contains(&format!("→ {policy}")), "{plan}");
    succeed(&mut verb(lab, &["apply", "--yes"]));
    let again = succeed(&mut verb(lab, &["apply", "--yes"]));
    assert!(again.starts_with("Nothing to do"), "{again}");
}

/// Routes and forwarding go with a boot of Windows; the agent's service makes
/// them again.
fn after_a_reboot_the_network_is_back_without_a_person(lab: &Lab) {
    lab.run(&["reboot", "win1", "--off", "1"]);
    eventually("win1 is right again", 120, || {
        let status = verb(lab, &["status"]).output().unwrap();
        println!("{}", text(&status));
        (status.status.code() == Some(0)).then_some(())
    });
    let journals = lab.cmd("win1", r"dir /b C:\ProgramData\casement\journal");
    assert!(journals.contains("repair-"), "{journals}");
    the_network_is_the_one_that_the_control_plane_gave(lab);
}

fn nodes_are_ready_and_tainted(lab: &Lab) {
    for name in ["win1", "win2"] {
        let taint = serde_json::json!({"key": "os", "value": "windows", "effect": "NoSchedule"});
        // The control plane takes its own taints off a moment after Ready.
        let node = eventually("only our own taint is left, and no cordon", 20, || {
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

/// From the Linux host's namespace, over the routes that casement made.
fn the_network_is_the_one_that_the_control_plane_gave(lab: &Lab) {
    for name in ["win1", "win2"] {
        let path = "--output=jsonpath={.spec.podCIDR}";
        let network = lab.kubectl(&["get", "node", name, path]);
        let networks = lab.cmd(name, r"C:\lab\hnscall.exe GET /networks/");
        assert!(networks.contains(&network), "{network} in {networks}");
        let conflist = lab.cmd(name, r"type C:\etc\cni\net.d\10-casement.conflist");
        assert!(conflist.contains(&network), "{network} in {conflist}");
        let gateway = network.replace(".0/24", ".1");
        let ping = ["exec", "lin1", "--", "ping", "-c", "1", "-W", "2", &gateway];
        let said = lab.run(&ping);
        assert!(said.contains("1 received"), "{said}");
    }
}

fn no_token_is_left(lab: &Lab) {
    assert_no_token_left(lab);
    for file in [
        r"C:\etc\kubernetes\bootstrap-kubelet.conf",
        r"C:\k\join.yaml",
    ] {
        let line = format!("if exist {file} exit 1");
        lab.cmd("win1", &line);
    }
}

/// What a watch has seen of the Nodes.
struct NodesSeen {
    kubectl: Child,
    events: PathBuf,
    _folder: tempfile::TempDir,
}

impl NodesSeen {
    fn watch(lab: &Lab) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let events = folder.path().join("events");
        let form = "--output=jsonpath={.object.metadata.name} {.object.spec.taints}{\"\\n\"}";
        let words = ["exec", "control-plane", "--", "kubectl", "get", "nodes"];
        let watch = ["--watch", "--output-watch-events", form];
        let mut command = lab.command(&[&words[..], &watch].concat());
        let file = fs::File::create(&events).unwrap();
        let kubectl = command.stdout(file).spawn().unwrap();
        eventually("the watch has begun", 20, || {
            let text = fs::read_to_string(&events).unwrap();
            text.contains("lin1").then_some(())
        });
        Self {
            kubectl,
            events,
            _folder: folder,
        }
    }

    fn were_tainted_from_the_first_moment(mut self) {
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

fn a_pod_runs_and_leaves_nothing(lab: &Lab) {
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
        "the real kube-proxy has made its load balancers",
        60,
        || {
            let lists = lab.cmd(host, r"C:\lab\hnscall.exe GET /policylists/");
            lists.contains("10.96.0.1").then_some(())
        },
    );
    lab.kubectl(&["delete", "pod,service", "web", "--timeout=60s"]);
    pod::no_endpoint_of_a_pod_is_left(lab, host);
}

/// Each is found, named, and mended; and nothing else is.
fn drift_is_found_and_mended(lab: &Lab) {
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
    let well = succeed(&mut verb(lab, &["doctor"]));
    assert!(well.contains("Nothing is wrong"), "{well}");
    let edited = r"echo x> C:\etc\cni\net.d\10-casement.conflist";
    let cases = [
        ("a file", edited, 1, "CAS-DOC-015"),
        ("a service", "sc stop kube-proxy", 1, "CAS-DOC-015"),
        ("the kubelet", "sc stop kubelet", 1, "CAS-DOC-004"),
        ("a registry value", without_path.as_str(), 1, "CAS-DOC-015"),
        (
            "an exclusion of Defender's",
            without_exclusion,
            1,
            "CAS-DOC-015",
        ),
        ("a firewall rule", without_rules, 1, "CAS-DOC-015"),
        // With a network go the endpoints in it, and the adapter that they had.
        ("a network", delete_network.as_str(), 3, "CAS-DOC-006"),
    ];
    for (what, line, count, code) in cases {
        let _ = lab.ssh("Administrator", "win1", line).output();
        let status = eventually(&format!("{what} has drifted"), 30, || {
            let status = verb(lab, &["status"]).output().unwrap();
            (status.status.code() == Some(4)).then_some(status)
        });
        let said = text(&status);
        assert!(
            said.contains("win1") && said.contains("drifted"),
            "{what}: {said}"
        );
        let doctor = verb(lab, &["doctor"]).output().unwrap();
        let said = text(&doctor);
        assert_eq!(doctor.status.code(), Some(5), "{what}: {said}");
        let causes = said.matches("error[").count();
        assert!(said.contains(code) && causes == 1, "{what}: {said}");
        let plan = succeed(&mut verb(lab, &["plan"]));
        let expected = format!("{count} to make or change");
        assert!(plan.contains(&expected), "{what}, and nothing else: {plan}");
        succeed(&mut verb(lab, &["apply", "--yes"]));
        let status = verb(lab, &["status"]).output().unwrap();
        assert_eq!(status.status.code(), Some(0), "{what}: {}", text(&status));
    }
}
