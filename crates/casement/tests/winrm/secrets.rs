//! Passwords are where they are needed, and nowhere else.

use std::collections::BTreeSet;

use crate::ground::Ground;
use crate::memory;
use crate::registry::{Account, GuardedRegistry, REGISTRY};
use crate::search::{Arguments, Found, Place, Search, Seen, files_with};
use crate::server::PASSWORD;

const PULLER: Account = Account("puller", "Registrierkasse-17");
const SURFER: Account = Account("surfer", "Stellvertreter-23");

/// Where the passwords are kept on this side, and the files of containerd's that they
/// are for.
const KEPT: [(&str, &str, Option<&str>); 3] = [
    (PASSWORD, "password", None),
    (PULLER.1, "registry-password", Some("config.toml")),
    (SURFER.1, "proxy-password", Some("proxy.env")),
];

const SECRETS: [&str; 3] = [PASSWORD, PULLER.1, SURFER.1];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_are_where_they_are_needed_and_nowhere_else() {
    let ground = Ground::start(&[true]).await;
    let registry = GuardedRegistry::start(PULLER, SURFER);
    for (password, file, _) in KEPT {
        std::fs::write(ground.at(file), format!("{password}\n")).unwrap();
    }
    let file = ground.at("cluster.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + &accounts(&registry)).unwrap();

    let arguments = Arguments::watch();
    let mut said = String::new();
    for words in [
        &["apply", "--yes", "-v", "--log-file", "apply.log"][..],
        &["plan", "-v"],
        &["status"],
        &["logs", "windows1", "--bundle", "--out", "all.tar.gz"],
    ] {
        said += &ground.succeed(words).await;
    }
    said += &deploy(&ground, &registry).await;
    said += &ground.report().await;
    let arguments = arguments.end();

    // Without the first there is no way to the host.
    let seen = Seen { said, arguments };
    assert_eq!(search(&ground).find(&SECRETS, &seen), kept(true));
    the_search_finds_what_is_planted(&ground);

    let back = [
        "reset",
        "--all",
        "--cluster",
        "--yes",
        "-v",
        "--log-file",
        "reset.log",
    ];
    let said = ground.succeed(&back).await;
    let seen = Seen { said, ..seen };
    assert_eq!(search(&ground).find(&SECRETS, &seen), kept(false));
}

fn accounts(registry: &GuardedRegistry) -> String {
    format!(
        "
  images:
    registry: {REGISTRY}
    credentials: {{user: {}, password: {{file: ./registry-password}}}}
  proxy:
    https: {}
    credentials: {{user: {}, password: {{file: ./proxy-password}}}}
",
        PULLER.0, registry.url, SURFER.0
    )
}

/// The images of a pod come from the registry through the proxy, which want their
/// accounts: both passwords are really used.
async fn deploy(ground: &Ground, registry: &GuardedRegistry) -> String {
    let image = format!("{REGISTRY}/shop/web:1");
    let deploy = ["sample", "deploy", "--no-linux", "--wait", "60"];
    let words = [&deploy[..], &["--windows-image", &image]].concat();
    let said = ground.succeed(&words).await;
    let given = registry.given();
    for image in ["pause/manifests/", "shop/web/manifests/1"] {
        let found = given.iter().any(|name| name.starts_with(image));
        assert!(found, "{image}: {given:?}");
    }
    said + &ground.succeed(&["sample", "delete"]).await
}

fn search(ground: &Ground) -> Search<'_> {
    let hosts = || ground.cluster.hosts().iter();
    Search {
        folder: ground.at(""),
        besides: None,
        memory: Box::new(move || hosts().flat_map(memory::texts).collect()),
    }
}

fn kept(on_host: bool) -> Found {
    let found = KEPT.map(|(password, file, there)| {
        let there = there.filter(|_| on_host);
        let there = there.map(|name| format!(r"windows1 C:\k\containerd\{name}"));
        let places: BTreeSet<String> = there.into_iter().chain([file.to_owned()]).collect();
        (password.to_owned(), places)
    });
    Found::from(found)
}

fn the_search_finds_what_is_planted(ground: &Ground) {
    let folder = &ground.at("");
    let record = |below: &str| {
        let found = files_with(&folder.join(below), "stepBegan");
        let file = found.last().unwrap_or_else(|| panic!("below {below}"));
        Place::file(folder, &format!("{below}/{file}"))
    };
    let host = ground.windows().next().unwrap();
    let places = [
        memory::log(host, "kubelet"),
        record("hosts/windows1/disk/ProgramData/casement/journal"),
        record(".casement/runs"),
        Place::archive(folder, "all.tar.gz"),
        Place::file(folder, "report.html"),
        Place::file(folder, "apply.log"),
    ];
    search(ground).finds_what_is_planted(&SECRETS, &places);
}
