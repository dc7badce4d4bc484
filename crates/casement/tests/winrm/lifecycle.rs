//! From bare hosts to a cluster and back, with nothing but WinRM open.

use crate::ground::Ground;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_join_are_kept_and_are_given_back_over_winrm() {
    // One with a pinned certificate, one with sealed messages.
    let ground = Ground::start(&[true, false]).await;
    let said = ground.succeed(&["apply", "--yes"]).await;
    assert!(said.contains("windows1 and windows2 are Ready"), "{said}");
    for host in ground.windows() {
        assert!(host.sim().runs("kubelet"), "{}", host.spec().name);
        let brought = host.console().disk().join("Program Files/casement/agent");
        assert_eq!(std::fs::read_dir(brought).unwrap().count(), 1);
    }
    for body in ground.servers[1].shared.bodies.lock().unwrap().iter() {
        let text = String::from_utf8_lossy(body);
        assert!(text.starts_with("--Encrypted Boundary\r\n"), "{text}");
    }

    let said = ground.succeed(&["apply", "--yes"]).await;
    assert!(said.contains("Nothing to do"), "{said}");
    let said = ground.succeed(&["status"]).await;
    assert_eq!(said.matches("right").count(), 3, "{said}");
    let plan = ground.run(&["plan", "--exit-code"]).await;
    assert_eq!(plan.status.code(), Some(0));

    let drift = ground.cluster.host("windows1").unwrap();
    drift.sim().meddle(|world| {
        world.variables.clear();
        world.firewall.clear();
    });
    ground.succeed(&["apply", "--yes"]).await;

    let back = ["reset", "--all", "--cluster", "--yes"];
    let said = ground.succeed(&back).await;
    assert!(said.contains("nothing of casement's is left"), "{said}");
    for host in ground.windows() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
        let disk = host.console().disk().to_owned();
        for folder in ["Program Files/casement", "ProgramData/casement"] {
            assert!(!disk.join(folder).exists(), "{folder}");
        }
    }
}
