//! Files of other tools: what is read, and where it lies.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use casement_diag::{Part, Position, Source};
use casement_source::foreign::{self, Foreign, Value};

fn place(file: &Foreign, value: &Value<'_>) -> (usize, String) {
    let range = file.map().range(value.path(), &Part::Value).unwrap();
    let text = file.map().text();
    let line = Position::of(text, range.start).line;
    (line, text[range].to_owned())
}

#[test]
fn documents_of_one_file_keep_their_places() {
    let text = "kind: A\nspec: {x: 1}\n---\n# nothing\n---\nkind: B\nspec:\n  x: two\n";
    let file = foreign::read("all.yaml", text.as_bytes());
    let found: Vec<_> = file.documents().map(|d| d.at("spec.x").unwrap()).collect();
    assert_eq!(found.len(), 2);
    assert_eq!(place(&file, &found[0]), (2, "1".to_owned()));
    assert_eq!(place(&file, &found[1]), (8, "two".to_owned()));
}

#[test]
fn a_text_in_a_config_map_lies_where_it_stands() {
    let text = "\
kind: ConfigMap
data:
  net-conf.json: |
    {
      \"Network\": \"10.244.0.0/16\",

      \"Backend\": {
        \"Type\": \"vxlan\",
        \"VNI\": 1
      }
    }
";
    let file = foreign::read("flannel.yaml", text.as_bytes());
    let inner = file.documents().find_map(|d| d.at("Backend.VNI")).unwrap();
    assert_eq!(place(&file, &inner), (9, "1".to_owned()));
}

#[test]
fn a_quoted_text_in_a_config_map_is_pointed_at_as_a_whole() {
    let text = "kind: ConfigMap\ndata:\n  net-conf.json: \"{\\\"Backend\\\": {\\\"VNI\\\": 1}}\"\n";
    let file = foreign::read("flannel.yaml", text.as_bytes());
    let inner = file.documents().find_map(|d| d.at("Backend.VNI")).unwrap();
    assert_eq!(place(&file, &inner).0, 3);
}

#[test]
fn toml_tables_are_read_with_places() {
    let text = "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = \"C:/etc\"\n";
    let file = foreign::read("config.toml", text.as_bytes());
    let document = file.documents().next().unwrap();
    let plugins = document.get("plugins").unwrap();
    let cri = plugins.get("io.containerd.grpc.v1.cri").unwrap();
    let dir = cri.at("cni.conf_dir").unwrap();
    assert_eq!(dir.text(), Some("C:/etc"));
    assert_eq!(place(&file, &dir), (3, "\"C:/etc\"".to_owned()));
}

#[test]
fn json_indented_with_tabs_is_read() {
    let text = "{\n\t\"name\": \"cbr0\",\n\t\"plugins\": [\n\t\t{\"type\": \"flannel\"}\n\t]\n}\n";
    let file = foreign::read("10-flannel.conflist", text.as_bytes());
    assert_eq!(file.diagnostics(), []);
    let document = file.documents().next().unwrap();
    assert_eq!(document.get("name").unwrap().text(), Some("cbr0"));
}

#[test]
fn aliases_and_merge_keys_are_followed_but_do_not_explode() {
    let text = "base: &b {a: 1}\nother:\n  <<: *b\n  c: *b\n";
    let file = foreign::read("x.yaml", text.as_bytes());
    let document = file.documents().next().unwrap();
    assert_eq!(document.at("other.a").unwrap().integer(), Some(1));
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let list = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{list}]\n");
    }
    assert_eq!(
        foreign::read("x.yaml", bomb.as_bytes()).diagnostics().len(),
        1
    );
}

#[test]
fn what_is_broken_is_said_with_the_file() {
    for (name, bytes) in [
        ("a.yaml", &b"a: [1"[..]),
        ("a.toml", b"a = "),
        ("a.json", b"\xff\xfea"),
    ] {
        let file = foreign::read(name, bytes);
        let finding = file.diagnostics().first().unwrap();
        assert_eq!(finding.file.as_deref(), Some(name));
        assert!(finding.help.is_some());
    }
}

#[test]
fn what_a_secret_holds_is_not_shown() {
    let text = "kind: Secret\nstringData:\n  user: hunter2\n";
    let file = foreign::read("s.yaml", text.as_bytes());
    assert!(!file.map().text().contains("hunter2"));
}

#[test]
fn of_scripts_only_the_lines_about_routes_are_shown() {
    let text =
        "kubeadm join --token abcdef.0123456789abcdef\n  ip route add 10.244.1.0/24 via 10.3.0.4\n";
    let file = foreign::read("node.sh", text.as_bytes());
    assert!(!file.map().text().contains("abcdef"));
    let lines = file.documents().next().unwrap().items();
    assert_eq!(
        place(&file, &lines[1]),
        (2, "ip route add 10.244.1.0/24 via 10.3.0.4".to_owned())
    );
}
