//! Passwords are only where they are needed.

use std::collections::BTreeSet;

use crate::fixture::Fixture;
use crate::memory;
use crate::registry::{Account, PrivateRegistry, REGISTRY};
use crate::secret_search::{
    Captured, Found, ProcessArguments, SearchTarget, SecretSearch, files_with,
};
use crate::server::PASSWORD;

const REGISTRY_ACCOUNT: Account = Account("puller", "Registrierkasse-17");
const PROXY_ACCOUNT: Account = Account("surfer", "Stellvertreter-23");

/// The passwords, the files on the controller that hold them, and the containerd files
/// on hosts that need them.
const FILES: [(&str, &str, Option<&str>); 3] = [
    (PASSWORD, "password", None),
    (REGISTRY_ACCOUNT.1, "registry-password", Some("config.toml")),
    (PROXY_ACCOUNT.1, "proxy-password", Some("proxy.env")),
];

const SECRETS: [&str; 3] = [PASSWORD, REGISTRY_ACCOUNT.1, PROXY_ACCOUNT.1];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_are_only_where_they_are_needed() {
    let fixture = Fixture::start(&[true]).await;
    let registry = PrivateRegistry::start(REGISTRY_ACCOUNT, PROXY_ACCOUNT);
    for (password, file, _) in FILES {
        std::fs::write(fixture.path(file), format!("{password}\n")).unwrap();
    }
    let file = fixture.path("cluster.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + &accounts(&registry)).unwrap();

    let arguments = ProcessArguments::watch();
    let mut printed = String::new();
    for args in [
        &["apply", "--yes", "-v", "--log-file", "apply.log"][..],
        &["plan", "-v"],
        &["status"],
        &["logs", "windows1", "--bundle", "--out", "all.tar.gz"],
    ] {
        printed += &fixture.succeed(args).await;
    }
    printed += &deploy(&fixture, &registry).await;
    printed += &fixture.report().await;
    let arguments = arguments.stop();

    let captured = Captured { printed, arguments };
    assert_eq!(
        search(&fixture).find(&SECRETS, &captured),
        expected_locations(true)
    );
    assert_search_finds_planted(&fixture);

    let reset = [
        "reset",
        "--all",
        "--cluster",
        "--yes",
        "-v",
        "--log-file",
        "reset.log",
    ];
    let printed = fixture.succeed(&reset).await;
    let captured = Captured {
        printed,
        ..captured
    };
    assert_eq!(
        search(&fixture).find(&SECRETS, &captured),
        expected_locations(false)
    );
}

fn accounts(registry: &PrivateRegistry) -> String {
    format!(
        "
  images:
    registry: {REGISTRY}
    credentials: {{user: {}, password: {{file: ./registry-password}}}}
  proxy:
    https: {}
    credentials: {{user: {}, password: {{file: ./proxy-password}}}}
",
        REGISTRY_ACCOUNT.0, registry.url, PROXY_ACCOUNT.0
    )
}

/// Pulls images from the registry through the proxy, so that both passwords are used.
async fn deploy(fixture: &Fixture, registry: &PrivateRegistry) -> String {
    let image = format!("{REGISTRY}/shop/web:1");
    let deploy = ["sample", "deploy", "--no-linux", "--wait", "60"];
    let args = [&deploy[..], &["--windows-image", &image]].concat();
    let printed = fixture.succeed(&args).await;
    let served = registry.served();
    for image in ["pause/manifests/", "shop/web/manifests/1"] {
        let found = served.iter().any(|name| name.starts_with(image));
        assert!(found, "{image}: {served:?}");
    }
    printed + &fixture.succeed(&["sample", "delete"]).await
}

fn search(fixture: &Fixture) -> SecretSearch<'_> {
    let hosts = || fixture.cluster.hosts().iter();
    SecretSearch {
        folder: fixture.path(""),
        excluded: None,
        memory: Box::new(move || hosts().flat_map(memory::texts).collect()),
    }
}

fn expected_locations(on_host: bool) -> Found {
    let found = FILES.map(|(password, file, on_host_file)| {
        let on_host_file = on_host_file.filter(|_| on_host);
        let on_host_file = on_host_file.map(|name| format!(r"windows1 C:\k\containerd\{name}"));
        let locations: BTreeSet<String> =
            on_host_file.into_iter().chain([file.to_owned()]).collect();
        (password.to_owned(), locations)
    });
    Found::from(found)
}

fn assert_search_finds_planted(fixture: &Fixture) {
    let folder = &fixture.path("");
    let record = |below: &str| {
        let found = files_with(&folder.join(below), "stepBegan");
        let file = found.last().unwrap_or_else(|| panic!("below {below}"));
        SearchTarget::file(folder, &format!("{below}/{file}"))
    };
    let host = fixture.windows().next().unwrap();
    let targets = [
        memory::log(host, "kubelet"),
        record("hosts/windows1/disk/ProgramData/casement/journal"),
        record(".casement/runs"),
        SearchTarget::archive(folder, "all.tar.gz"),
        SearchTarget::file(folder, "report.html"),
        SearchTarget::file(folder, "apply.log"),
    ];
    search(fixture).assert_finds_planted(&SECRETS, &targets);
}
