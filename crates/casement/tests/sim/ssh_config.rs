//! Hosts whose connection settings come from OpenSSH's configuration.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use casement_sim::SimHost;

use crate::command::{combined_output, succeed};
use crate::fixture::Fixture;
use crate::sshd::{Server, USER};

/// A cluster file without SSH settings, an OpenSSH configuration with them, and a real
/// OpenSSH server as bastion.
struct SshConfigFixture {
    base: Fixture,
    bastion: Server,
}

impl SshConfigFixture {
    async fn start() -> Self {
        let base = Fixture::start(1, true).await;
        let fixture = Self {
            bastion: Server::start("LogLevel VERBOSE"),
            base,
        };
        let file = fixture.base.cluster.cluster_file();
        let text = std::fs::read_to_string(&file).unwrap();
        let access = "  access:\n    ssh:\n      user: Administrator\n      \
                      key: ./id_ed25519\n      knownHosts: ./known_hosts\n";
        assert!(text.contains(access), "{text}");
        let host = fixture.windows1();
        let port = format!(",\n       access: {{ssh: {{port: {}}}}}", host.port());
        assert!(text.contains(&port), "{text}");
        let linux = "ssh: {user: root, ";
        assert!(text.contains(linux), "{text}");
        let linux_with_key = format!("{linux}key: ./id_ed25519, knownHosts: ./known_hosts, ");
        let text = text.replace(access, "").replace(&port, "");
        let text = text.replace(linux, &linux_with_key);
        std::fs::write(&file, text).unwrap();

        // OpenSSH reads its configuration from the account's home whatever HOME says.
        let (bin, config) = (fixture.path("bin"), fixture.path("ssh_config"));
        std::fs::create_dir(&bin).unwrap();
        let script = format!(
            "#!/bin/sh\nexec /usr/bin/ssh -F '{}' \"$@\"\n",
            config.display()
        );
        std::fs::write(bin.join("ssh"), script).unwrap();
        std::fs::set_permissions(bin.join("ssh"), Permissions::from_mode(0o755)).unwrap();
        fixture
    }

    fn windows1(&self) -> &SimHost {
        self.base.cluster.host("windows1").unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.cluster.cluster_file().with_file_name(name)
    }

    /// Writes the OpenSSH configuration of the host and the bastion.
    fn write_config(&self, pattern: &str, extra: &str) {
        let host = self.windows1();
        let (address, port) = (host.spec().address, host.port());
        let known = std::fs::read_to_string(self.path("known_hosts")).unwrap();
        let prefix = format!("[{address}]:{port} ");
        let key = known.lines().find_map(|line| line.strip_prefix(&prefix));
        let key = key.unwrap_or_else(|| panic!("{prefix} is not in {known}"));
        std::fs::write(self.path("named_hosts"), format!("the-windows {key}\n")).unwrap();
        let (dir, bastion) = (self.path(""), self.bastion.at(""));
        let text = format!(
            "Host {pattern}\n  HostName {address}\n  Port {port}\n  User Administrator\n  \
             IdentityFile {dir}id_ed25519\n  UserKnownHostsFile {dir}named_hosts\n  \
             HostKeyAlias the-windows\n  {extra}\n\
             Host bastion\n  HostName 127.0.0.1\n  Port {}\n  User {USER}\n  \
             IdentityFile {bastion}id\n  UserKnownHostsFile {bastion}known_hosts\n",
            self.bastion.port,
            dir = dir.display(),
            bastion = bastion.display(),
        );
        std::fs::write(self.path("ssh_config"), text).unwrap();
    }

    fn edit_cluster_file(&self, from: &str, to: &str) {
        let file = self.base.cluster.cluster_file();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "`{from}` is not in {text}");
        std::fs::write(file, text.replace(from, to)).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.base.command(args);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command
    }

    /// Logins at the bastion.
    fn bastion_logins(&self) -> usize {
        let log = std::fs::read_to_string(self.bastion.at("log")).unwrap();
        log.matches("Accepted publickey").count()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs root and OpenSSH"]
async fn host_is_reached_as_openssh_reaches_it() {
    let fixture = SshConfigFixture::start().await;
    let address = fixture.windows1().spec().address;
    let plain = format!("address: {address}, os: windows-2022, roles: [worker]");

    // The configuration has a pattern for the address, not for the name.
    fixture.write_config(&address.to_string(), "ProxyJump bastion");
    let printed = succeed(fixture.command(&["apply", "--yes"])).await;
    assert!(printed.contains("windows1 is Ready"), "{printed}");
    assert_eq!(
        fixture.bastion_logins(),
        1,
        "one connection, through the bastion"
    );

    let by_name = format!("{plain}, access: {{ssh: {{host: shop-win}}}}");
    fixture.edit_cluster_file(&plain, &by_name);
    fixture.write_config("shop-win", "ProxyJump bastion");
    let printed = succeed(fixture.command(&["status"])).await;
    assert!(printed.contains("in sync"), "{printed}");
    assert_eq!(fixture.bastion_logins(), 2);

    // The cluster file takes precedence.
    let directly = format!("{plain}, access: {{ssh: {{host: shop-win}}, bastion: none}}");
    fixture.edit_cluster_file(&by_name, &directly);
    succeed(fixture.command(&["status"])).await;
    assert_eq!(fixture.bastion_logins(), 2);

    // A bastion can be a name in the OpenSSH configuration too.
    fixture.edit_cluster_file(&directly, &by_name);
    fixture.write_config("shop-win", "");
    fixture.edit_cluster_file(
        "  artifacts:\n",
        "  access: {bastion: {address: bastion}}\n  artifacts:\n",
    );
    succeed(fixture.command(&["status"])).await;
    assert_eq!(fixture.bastion_logins(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs root and OpenSSH"]
async fn proxy_command_is_rejected_with_alternatives() {
    let fixture = SshConfigFixture::start().await;
    let address = fixture.windows1().spec().address;
    fixture.write_config(&address.to_string(), "ProxyCommand nc %h %p");
    let output = crate::command::run(fixture.command(&["apply", "--yes"])).await;
    let printed = combined_output(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    for part in ["CAS-SSH-028", "nc %h %p", "ProxyJump", "access.bastion"] {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
}
