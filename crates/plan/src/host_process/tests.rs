use casement_spec::host_process::{FLANNEL_IMAGE, KUBE_PROXY_IMAGE, missing_overrides};

use super::*;

fn spec(network: &str, images: &str) -> Cluster {
    let text = format!(
        "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: shop}}\nspec:\n  \
         kubernetes: {{version: 1.36.3}}\n  existing: {{kubeconfig: ./admin.conf}}\n  \
         network: {{mode: {network}}}\n  windows: {{components: host-process}}\n  \
         images: {{{images}}}\n  hosts:\n    \
         - {{name: win1, address: 10.3.0.4, os: windows-2022}}\n"
    );
    let loaded = casement_source::load_bytes("cluster.yaml", text.as_bytes());
    let cluster = loaded.cluster;
    cluster.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

fn facts() -> ClusterFacts {
    ClusterFacts {
        api_server: "10.3.0.1:6443".to_owned(),
        ca_hashes: Vec::new(),
        ca: String::new(),
        nodes: Vec::new(),
    }
}

fn names(objects: &[Value]) -> Vec<String> {
    let name = |it: &Value| {
        let metadata = &it["metadata"];
        format!(
            "{} {}/{}",
            it["kind"], metadata["namespace"], metadata["name"]
        )
        .replace('"', "")
    };
    objects.iter().map(name).collect()
}

#[test]
fn calico_needs_nothing_named_and_flannel_needs_its_image() {
    let calico = spec("calico-vxlan", "");
    assert!(missing_overrides(&calico).is_empty());
    assert_eq!(
        names(&host_process(&calico, &facts())),
        [
            "ConfigMap kube-system/kubernetes-services-endpoint",
            "DaemonSet kube-system/calico-node-windows",
            "DaemonSet kube-system/kube-proxy-windows",
        ]
    );
    let bare = spec("flannel-overlay", "");
    assert_eq!(missing_overrides(&bare), [FLANNEL_IMAGE, KUBE_PROXY_IMAGE]);
    let named = "overrides: {sigwindowstools/flannel: r.example/flannel:v1, \
                 sigwindowstools/kube-proxy: r.example/kube-proxy:v1}";
    let named = spec("flannel-overlay", named);
    assert!(missing_overrides(&named).is_empty());
    let objects = host_process(&named, &facts());
    assert_eq!(
        names(&objects),
        [
            "ConfigMap kube-flannel/kube-flannel-windows-cfg",
            "DaemonSet kube-flannel/kube-flannel-ds-windows-amd64",
            "DaemonSet kube-system/kube-proxy-windows",
        ]
    );
    let container = |at: usize| &objects[at]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container(1)["image"], "r.example/flannel:v1");
    assert_eq!(container(2)["image"], "r.example/kube-proxy:v1");
}

#[test]
fn every_pod_is_a_whole_host_process_one() {
    for object in host_process(&spec("calico-vxlan", ""), &facts()) {
        if object["kind"] != "DaemonSet" {
            continue;
        }
        let pod = &object["spec"]["template"]["spec"];
        let options = &pod["securityContext"]["windowsOptions"];
        assert_eq!(options["hostProcess"], true);
        assert_eq!(options["runAsUserName"], "NT AUTHORITY\\system");
        assert_eq!(pod["hostNetwork"], true);
        assert_eq!(pod["nodeSelector"]["kubernetes.io/os"], "windows");
        let lists = ["initContainers", "containers"].map(|key| pod[key].as_array());
        for container in lists.into_iter().flatten().flatten() {
            let variables = container["env"].as_array().unwrap();
            let host = variables
                .iter()
                .find(|it| it["name"] == "KUBERNETES_SERVICE_HOST");
            assert_eq!(host.unwrap()["value"], "10.3.0.1", "{}", container["name"]);
        }
    }
}

#[test]
fn services_stay_services() {
    let mut cluster = spec("calico-vxlan", "");
    cluster.spec.windows.components = WindowsComponents::Services;
    assert!(host_process(&cluster, &facts()).is_empty());
    assert!(missing_overrides(&cluster).is_empty());
}
