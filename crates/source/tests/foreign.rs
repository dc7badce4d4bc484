//! Files of other tools: values and positions.

#![allow(clippy::unwrap_used, reason = "test code")]

use casement_diag::{Part, Position, Source};
use casement_source::foreign::{self, Foreign, Value};

fn position(file: &Foreign, value: &Value<'_>) -> (usize, String) {
    let range = file.map().range(value.path(), &Part::Value).unwrap();
    let text = file.map().text();
    let line = Position::of(text, range.start).line;
    (line, text[range].to_owned())
}

#[test]
fn documents_of_one_file_keep_their_positions() {
    let text = "kind: A\nspec: {x: 1}\n---\n# nothing\n---\nkind: B\nspec:\n  x: two\n";
    let file = foreign::read("all.yaml", text.as_bytes());
    let found: Vec<_> = file.documents().map(|d| d.at("spec.x").unwrap()).collect();
    assert_eq!(found.len(), 2);
    assert_eq!(position(&file, &found[0]), (2, "1".to_owned()));
    assert_eq!(position(&file, &found[1]), (8, "two".to_owned()));
}

#[test]
fn embedded_document_has_its_position_in_the_file() {
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
    assert_eq!(position(&file, &inner), (9, "1".to_owned()));
}

#[test]
fn quoted_embedded_document_has_the_position_of_the_string() {
    let text = "kind: ConfigMap\ndata:\n  net-conf.json: \"{\\\"Backend\\\": {\\\"VNI\\\": 1}}\"\n";
    let file = foreign::read("flannel.yaml", text.as_bytes());
    let inner = file.documents().find_map(|d| d.at("Backend.VNI")).unwrap();
    assert_eq!(position(&file, &inner).0, 3);
}

#[test]
fn toml_tables_have_positions() {
    let text = "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = \"C:/etc\"\n";
    let file = foreign::read("config.toml", text.as_bytes());
    let document = file.documents().next().unwrap();
    let plugins = document.get("plugins").unwrap();
    let cri = plugins.get("io.containerd.grpc.v1.cri").unwrap();
    let dir = cri.at("cni.conf_dir").unwrap();
    assert_eq!(dir.text(), Some("C:/etc"));
    assert_eq!(position(&file, &dir), (3, "\"C:/etc\"".to_owned()));
}

#[test]
fn json_indented_with_tabs_is_parsed() {
    let text = "{\n\t\"name\": \"cbr0\",\n\t\"plugins\": [\n\t\t{\"type\": \"flannel\"}\n\t]\n}\n";
    let file = foreign::read("10-flannel.conflist", text.as_bytes());
    assert_eq!(file.diagnostics(), []);
    let document = file.documents().next().unwrap();
    assert_eq!(document.get("name").unwrap().text(), Some("cbr0"));
}

#[test]
fn aliases_and_merge_keys_are_expanded_up_to_a_limit() {
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
fn syntax_errors_name_the_file() {
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
fn secret_data_is_masked() {
    let text = "kind: Secret\nstringData:\n  user: hunter2\n";
    let file = foreign::read("s.yaml", text.as_bytes());
    assert!(!file.map().text().contains("hunter2"));
}

#[test]
fn script_lines_are_masked_except_routes() {
    let text =
        "kubeadm join --token abcdef.0123456789abcdef\n  ip route add 10.244.1.0/24 via 10.3.0.4\n";
    let file = foreign::read("node.sh", text.as_bytes());
    assert!(!file.map().text().contains("abcdef"));
    let lines = file.documents().next().unwrap().items();
    assert_eq!(
        position(&file, &lines[1]),
        (2, "ip route add 10.244.1.0/24 via 10.3.0.4".to_owned())
    );
}
