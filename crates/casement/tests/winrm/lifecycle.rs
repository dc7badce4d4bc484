//! From bare hosts to a cluster and back, over WinRM only.

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_repairs_drift_and_reset_cleans_up_over_winrm() {
    // One host with a pinned certificate, one with sealed messages.
    let fixture = Fixture::start(&[true, false]).await;
    let printed = fixture.succeed(&["apply", "--yes"]).await;
    assert!(
        printed.contains("windows1 and windows2 are Ready"),
        "{printed}"
    );
    for host in fixture.windows() {
        assert!(host.sim().is_running("kubelet"), "{}", host.spec().name);
        let agents = host.console().disk().join("Program Files/casement/agent");
        assert_eq!(std::fs::read_dir(agents).unwrap().count(), 1);
    }
    for body in fixture.servers[1].shared.bodies.lock().unwrap().iter() {
        let text = String::from_utf8_lossy(body);
        assert!(text.starts_with("--Encrypted Boundary\r\n"), "{text}");
    }

    let printed = fixture.succeed(&["apply", "--yes"]).await;
    assert!(printed.contains("No changes: "), "{printed}");
    let printed = fixture.succeed(&["status"]).await;
    assert_eq!(printed.matches("in sync").count(), 3, "{printed}");
    let plan = fixture.run(&["plan", "--exit-code"]).await;
    assert_eq!(plan.status.code(), Some(0));

    let drifted = fixture.cluster.host("windows1").unwrap();
    drifted.sim().modify_world(|world| {
        world.variables.clear();
        world.firewall.clear();
    });
    fixture.succeed(&["apply", "--yes"]).await;

    let reset = ["reset", "--all", "--cluster", "--yes"];
    let printed = fixture.succeed(&reset).await;
    assert!(
        printed.contains("all casement resources are removed"),
        "{printed}"
    );
    for host in fixture.windows() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
        let disk = host.console().disk().to_owned();
        for folder in ["Program Files/casement", "ProgramData/casement"] {
            assert!(!disk.join(folder).exists(), "{folder}");
        }
    }
}
