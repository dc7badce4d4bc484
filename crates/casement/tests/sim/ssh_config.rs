//! Hosts that go by what OpenSSH's own configuration says of them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use casement_sim::SimHost;

use crate::ground::Ground;
use crate::sshd::{Server, USER};
use crate::typed::{said, succeed};

/// A cluster file that says nothing about SSH, and a configuration of OpenSSH that
/// does. A real OpenSSH server stands before the host.
struct Named {
    ground: Ground,
    gate: Server,
}

impl Named {
    async fn start() -> Self {
        let ground = Ground::start(1, true).await;
        let named = Self {
            gate: Server::start("LogLevel VERBOSE"),
            ground,
        };
        let file = named.ground.cluster.cluster_file();
        let text = std::fs::read_to_string(&file).unwrap();
        let access = "  access:\n    ssh:\n      user: Administrator\n      \
                      key: ./id_ed25519\n      knownHosts: ./known_hosts\n";
        assert!(text.contains(access), "{text}");
        let host = named.windows1();
        let port = format!(",\n       access: {{ssh: {{port: {}}}}}", host.port());
        assert!(text.contains(&port), "{text}");
        let linux = "ssh: {user: root, ";
        assert!(text.contains(linux), "{text}");
        let own = format!("{linux}key: ./id_ed25519, knownHosts: ./known_hosts, ");
        let text = text.replace(access, "").replace(&port, "");
        let text = text.replace(linux, &own);
        std::fs::write(&file, text).unwrap();

        // OpenSSH looks for its configuration in the account's home, wherever HOME is.
        let (bin, config) = (named.at("bin"), named.at("ssh_config"));
        std::fs::create_dir(&bin).unwrap();
        let script = format!(
            "#!/bin/sh\nexec /usr/bin/ssh -F '{}' \"$@\"\n",
            config.display()
        );
        std::fs::write(bin.join("ssh"), script).unwrap();
        std::fs::set_permissions(bin.join("ssh"), Permissions::from_mode(0o755)).unwrap();
        named
    }

    fn windows1(&self) -> &SimHost {
        self.ground.cluster.host("windows1").unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.ground.cluster.cluster_file().with_file_name(name)
    }

    /// What is written about a host under a pattern, and about the gate.
    fn write(&self, pattern: &str, between: &str) {
        let host = self.windows1();
        let (address, port) = (host.spec().address, host.port());
        let known = std::fs::read_to_string(self.at("known_hosts")).unwrap();
        let here = format!("[{address}]:{port} ");
        let key = known.lines().find_map(|line| line.strip_prefix(&here));
        let key = key.unwrap_or_else(|| panic!("{here} is not in {known}"));
        std::fs::write(self.at("named_hosts"), format!("the-windows {key}\n")).unwrap();
        let (own, gate) = (self.at(""), self.gate.at(""));
        let text = format!(
            "Host {pattern}\n  HostName {address}\n  Port {port}\n  User Administrator\n  \
             IdentityFile {own}id_ed25519\n  UserKnownHostsFile {own}named_hosts\n  \
             HostKeyAlias the-windows\n  {between}\n\
             Host gate\n  HostName 127.0.0.1\n  Port {}\n  User {USER}\n  \
             IdentityFile {gate}id\n  UserKnownHostsFile {gate}known_hosts\n",
            self.gate.port,
            own = own.display(),
            gate = gate.display(),
        );
        std::fs::write(self.at("ssh_config"), text).unwrap();
    }

    fn change(&self, from: &str, to: &str) {
        let file = self.ground.cluster.cluster_file();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "`{from}` is not in {text}");
        std::fs::write(file, text.replace(from, to)).unwrap();
    }

    fn casement(&self, words: &[&str]) -> Command {
        let mut command = self.ground.command(words);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.at("bin").display()));
        command
    }

    /// How often somebody came through the gate.
    fn passed(&self) -> usize {
        let log = std::fs::read_to_string(self.gate.at("log")).unwrap();
        log.matches("Accepted publickey").count()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs root and OpenSSH"]
async fn a_host_is_reached_as_openssh_would_reach_it() {
    let named = Named::start().await;
    let address = named.windows1().spec().address;
    let plain = format!("address: {address}, os: windows-2022, roles: [worker]");

    // Nothing is said of the name, so something is said of the address.
    named.write(&address.to_string(), "ProxyJump gate");
    let said = succeed(named.casement(&["apply", "--yes"])).await;
    assert!(said.contains("windows1 is Ready"), "{said}");
    assert_eq!(named.passed(), 1, "one connection, and by the gate");

    let by_name = format!("{plain}, access: {{ssh: {{host: shop-win}}}}");
    named.change(&plain, &by_name);
    named.write("shop-win", "ProxyJump gate");
    let said = succeed(named.casement(&["status"])).await;
    assert!(said.contains("right"), "{said}");
    assert_eq!(named.passed(), 2);

    // The file's own word stands before all of it.
    let directly = format!("{plain}, access: {{ssh: {{host: shop-win}}, bastion: none}}");
    named.change(&by_name, &directly);
    succeed(named.casement(&["status"])).await;
    assert_eq!(named.passed(), 2);

    // A bastion may be a name of OpenSSH's too.
    named.change(&directly, &by_name);
    named.write("shop-win", "");
    named.change(
        "  artifacts:\n",
        "  access: {bastion: {address: gate}}\n  artifacts:\n",
    );
    succeed(named.casement(&["status"])).await;
    assert_eq!(named.passed(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs root and OpenSSH"]
async fn a_command_that_only_openssh_can_use_is_told() {
    let named = Named::start().await;
    let address = named.windows1().spec().address;
    named.write(&address.to_string(), "ProxyCommand nc %h %p");
    let output = crate::typed::run(named.casement(&["apply", "--yes"])).await;
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in ["CAS-SSH-028", "nc %h %p", "ProxyJump", "access.bastion"] {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
}
