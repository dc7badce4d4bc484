use super::*;

fn sample(windows: &[u32], expose: Expose) -> Sample {
    Sample {
        namespace: "shop".to_owned(),
        expose,
        replicas: 2,
        windows: windows.to_vec(),
        linux: true,
        windows_image: None,
        linux_image: None,
    }
}

fn names(objects: &[Value]) -> Vec<String> {
    let name = |it: &Value| format!("{} {}", it["kind"], it["metadata"]["name"]).replace('"', "");
    objects.iter().map(name).collect()
}

#[test]
fn each_windows_release_has_its_own_image_and_all_share_a_service() {
    let objects = sample_objects(&sample(&[20348, 26100], Expose::NodePort));
    assert_eq!(
        names(&objects),
        [
            "Deployment casement-sample-windows-2022",
            "Deployment casement-sample-windows-2025",
            "Service casement-sample-windows",
            "Deployment casement-sample-linux",
            "Service casement-sample-linux",
        ]
    );
    for (object, build, tag) in [
        (&objects[0], "10.0.20348", "ltsc2022"),
        (&objects[1], "10.0.26100", "ltsc2025"),
    ] {
        let pod = &object["spec"]["template"]["spec"];
        let selector = &pod["nodeSelector"];
        assert_eq!(selector["node.kubernetes.io/windows-build"], build);
        assert_eq!(selector["kubernetes.io/os"], "windows");
        assert_eq!(pod["tolerations"][0]["value"], "windows");
        let image = pod["containers"][0]["image"].as_str().unwrap();
        assert!(image.ends_with(tag), "{image}");
    }
    assert_eq!(objects[2]["spec"]["type"], "NodePort");
}

#[test]
fn the_service_finds_the_pods_of_every_release() {
    let objects = sample_objects(&sample(&[17763, 20348], Expose::ClusterIp));
    let wanted = objects[2]["spec"]["selector"].as_object().unwrap();
    for object in &objects[..2] {
        let labels = &object["spec"]["template"]["metadata"]["labels"];
        assert!(wanted.iter().all(|(key, value)| labels[key] == *value));
    }
    let linux = &objects[3]["spec"]["template"]["metadata"]["labels"];
    assert!(wanted.iter().any(|(key, value)| linux[key] != *value));
}

#[test]
fn memory_is_counted_in_bytes_and_not_in_thousandths() {
    for object in sample_objects(&sample(&[20348], Expose::LoadBalancer)) {
        if object["kind"] != "Deployment" {
            continue;
        }
        let resources = &object["spec"]["template"]["spec"]["containers"][0]["resources"];
        for kind in ["requests", "limits"] {
            let memory = resources[kind]["memory"].as_str().unwrap();
            assert!(memory.ends_with("Mi"), "{memory}");
        }
    }
}
