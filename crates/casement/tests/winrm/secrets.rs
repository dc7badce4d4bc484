//! Passwords are where they are needed, and nowhere else.

use std::io::Read as _;
use std::path::Path;

use casement_node::sim::Thing;

use crate::ground::Ground;
use crate::search::{Arguments, files_with};
use crate::server::PASSWORD;

const REGISTRY: &str = "Registrierkasse-17";
const PROXY: &str = "Stellvertreter-23";

const ACCOUNTS: &str = "
  images:
    registry: registry.shop.example:5000
    credentials: {user: puller, password: {file: ./registry-password}}
  proxy:
    https: http://10.3.0.9:3128
    credentials: {user: surfer, password: {file: ./proxy-password}}
";

/// Where the passwords are kept on this side.
const KEPT: [(&str, &str); 3] = [
    (PASSWORD, "password"),
    (REGISTRY, "registry-password"),
    (PROXY, "proxy-password"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_are_where_they_are_needed_and_nowhere_else() {
    let ground = Ground::start(&[true]).await;
    for (password, file) in KEPT {
        std::fs::write(ground.at(file), format!("{password}\n")).unwrap();
    }
    let file = ground.at("cluster.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + ACCOUNTS).unwrap();

    let arguments = Arguments::watch();
    let mut said = ground.succeed(&["apply", "--yes", "-v"]).await;
    said += &ground.succeed(&["plan", "-v"]).await;
    said += &ground.succeed(&["status"]).await;
    let bundle = ["logs", "windows1", "--bundle", "--out", "all.tar.gz"];
    said += &ground.succeed(&bundle).await;
    unpack(&ground.at("all.tar.gz"), &ground.at("bundle"));
    said += &ground.report().await;
    let arguments = arguments.end();

    // Each is really used: without the first there is no way to the host.
    assert_eq!(on_host(&ground, PASSWORD), [""; 0]);
    assert_eq!(on_host(&ground, REGISTRY), ["config.toml"]);
    assert_eq!(on_host(&ground, PROXY), ["proxy.env"]);
    for (password, file) in KEPT {
        assert_eq!(files_with(&ground.at(""), password), [file]);
        assert!(!said.contains(password), "{said}");
        assert!(!arguments.iter().any(|line| line.contains(password)));
    }
    the_search_finds_what_is_planted(&ground);

    let back = ["reset", "--all", "--cluster", "--yes"];
    ground.succeed(&back).await;
    for (password, file) in KEPT {
        assert_eq!(on_host(&ground, password), [""; 0]);
        assert_eq!(files_with(&ground.at(""), password), [file]);
    }
}

fn the_search_finds_what_is_planted(ground: &Ground) {
    for place in ["bundle/planted", ".casement/planted", "planted"] {
        std::fs::write(ground.at(place), format!("a {PROXY} b")).unwrap();
        let found = files_with(&ground.at(""), PROXY);
        assert!(found.iter().any(|path| path == place), "{place}: {found:?}");
        std::fs::remove_file(ground.at(place)).unwrap();
    }
    let arguments = Arguments::watch();
    let mut sleep = std::process::Command::new("sh");
    sleep.args(["-c", "sleep 0.5", PROXY]).status().unwrap();
    assert!(arguments.end().iter().any(|line| line.contains(PROXY)));
}

/// Names of the Windows host's files that hold a text.
fn on_host(ground: &Ground, secret: &str) -> Vec<String> {
    let world = ground.windows().next().unwrap().sim().world();
    let files = world.entries.iter().filter_map(|(path, (thing, _))| {
        let Thing::File(bytes) = thing else {
            return None;
        };
        let text = String::from_utf8_lossy(bytes);
        text.contains(secret).then(|| path.file_name().to_owned())
    });
    files.collect()
}

fn unpack(archive: &Path, folder: &Path) {
    let file = std::fs::File::open(archive).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut bytes)
        .unwrap();
    tar::Archive::new(bytes.as_slice()).unpack(folder).unwrap();
    assert!(folder.join("host.json").exists());
}
