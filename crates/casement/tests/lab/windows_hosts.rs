//! Windows and Linux hosts without Go and a control plane.

use std::fs;
use std::process::Command;

use crate::lab_fixture::{Lab, SystemState, assert_cleaned_up, exclusive, succeed, text};

#[test]
#[ignore = "needs root and wine"]
fn windows_hosts_start_serve_ssh_and_are_cleaned_up() {
    let _exclusive = exclusive();
    let before = SystemState::now();
    let lab = Lab::named("hosts");
    let printed = lab.run(&["up", "--level", "wine", "--hosts", "2"]);
    assert!(printed.contains("cluster.yaml"), "{printed}");

    assert_windows_version(&lab);
    assert_cmd_gets_commands_verbatim(&lab);
    assert_sftp_works_as_on_windows(&lab);
    assert_hosts_reach_only_each_other(&lab);
    assert_second_up_changes_nothing(&lab);

    lab.run(&["down"]);
    assert_cleaned_up(&before, lab.state());
    let again = lab.run(&["down"]);
    assert!(again.contains("No changes: there is no lab"), "{again}");
}

fn assert_windows_version(lab: &Lab) {
    assert!(lab.cmd("win1", "ver").contains("10.0.20348"));
    let key = r#"reg query "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion" /v"#;
    assert!(lab.cmd("win1", &format!("{key} UBR")).contains("0xedf"));
    let product = lab.cmd("win1", &format!("{key} ProductName"));
    assert!(
        product.contains("Windows Server 2022 Datacenter"),
        "{product}"
    );
    let identity = lab.cmd("win2", "echo %COMPUTERNAME% %USERNAME% %CD%");
    assert!(
        identity.starts_with(r"WIN2 Administrator C:\users\Administrator"),
        "{identity}"
    );
    assert!(
        lab.run(&["exec", "win1", "--", "cmd", "/c", "ver"])
            .contains("20348")
    );
}

fn assert_cmd_gets_commands_verbatim(lab: &Lab) {
    assert_eq!(
        lab.cmd("win1", r#"echo "a  b" 'c' %OS% & echo x"#),
        "\"a  b\" 'c' Windows_NT \r\nx\r\n"
    );
    let failed = lab.ssh("Administrator", "win1", "exit 7").output().unwrap();
    assert_eq!(failed.status.code(), Some(7), "{}", text(&failed));
    // A stub that exits with 0 would hide errors.
    let powershell = lab
        .ssh("Administrator", "win1", "powershell -Command exit 0")
        .output()
        .unwrap();
    assert!(!powershell.status.success(), "{}", text(&powershell));
}

fn assert_sftp_works_as_on_windows(lab: &Lab) {
    lab.sftp("win1", "mkdir /C:/k\n");
    lab.put("win1", "/C:/k/a b.txt", "hello");
    let listed = lab.sftp(
        "win1",
        "pwd\nls /\nls /c:/K\nrename \"/C:/k/a b.txt\" /C:/k/c.txt\n",
    );
    for expected in ["/C:/Users/Administrator", "C:", "a b.txt"] {
        assert!(listed.contains(expected), "{expected} in {listed}");
    }
    assert_eq!(lab.cmd("win1", r"type C:\k\c.txt"), "hello");
    let copy = lab.state().join("copy");
    lab.sftp(
        "win1",
        &format!("get /C:/windows/system32/kernel32.dll {}\n", copy.display()),
    );
    assert!(fs::metadata(&copy).unwrap().len() > 100_000);
    fs::remove_file(copy).unwrap();
}

fn assert_hosts_reach_only_each_other(lab: &Lab) {
    let pid = lab.host("win1")["pid"].to_string();
    let script = format!(
        "exec 3<>/dev/tcp/{}/22 && head -c 4 <&3",
        lab.address("win2")
    );
    let args = ["--target", &pid, "--net", "bash", "-c", &script];
    assert_eq!(succeed(Command::new("nsenter").args(args)), "SSH-");
    // Looks up a route without sending anything: hosts have none to other networks.
    let address = lab.address("win1");
    let slot = address.split('.').nth(2).unwrap();
    let bridge = format!("cas{slot}");
    let args = [
        "route",
        "get",
        "203.0.113.1",
        "from",
        &address,
        "iif",
        &bridge,
    ];
    let route = Command::new("ip").args(args).output().unwrap();
    assert!(
        text(&route).contains("No route to host"),
        "{}",
        text(&route)
    );
}

fn assert_second_up_changes_nothing(lab: &Lab) {
    let boots = |host: &str| lab.host(host)["boots"].as_u64();
    let before = boots("win1");
    let printed = lab.run(&["up", "--level", "wine", "--hosts", "2"]);
    assert!(printed.starts_with("Already up"), "{printed}");
    assert_eq!(boots("win1"), before);
    let other = lab
        .command(&["up", "--level", "wine", "--hosts", "3"])
        .output()
        .unwrap();
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other).contains("CAS-LAB-016"), "{}", text(&other));
}

#[test]
#[ignore = "needs root and wine"]
fn reboot_starts_services_by_their_start_type() {
    let _exclusive = exclusive();
    let lab = Lab::named("reboot");
    lab.run(&["up", "--level", "wine"]);
    let boot_id = || {
        let key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";
        lab.cmd("win1", &format!("reg query \"{key}\" /v BootId"))
    };
    assert!(boot_id().contains("0x1"));
    // Wine's own service, which starts on demand by default.
    let key = r"HKLM\System\CurrentControlSet\Services\Spooler";
    let line = format!("reg add {key} /v Start /t REG_DWORD /d 2 /f");
    lab.cmd("win1", &line);
    assert!(lab.cmd("win1", "sc query spooler").contains("STOPPED"));
    lab.put("win1", "/C:/net.json", r#"{"Name":"stays","Type":"NAT"}"#);
    lab.put(
        "win1",
        "/C:/gone.json",
        r#"{"Name":"goes","Type":"NAT","Flags":8}"#,
    );
    for file in ["net", "gone"] {
        lab.cmd(
            "win1",
            &format!(r"C:\lab\hnscall.exe POST /networks/ C:\{file}.json"),
        );
    }
    lab.run(&["reboot", "win1"]);
    assert!(boot_id().contains("0x2"));
    assert!(lab.cmd("win1", "sc query spooler").contains("RUNNING"));
    let networks = lab.cmd("win1", r"C:\lab\hnscall.exe GET /networks/");
    assert!(
        networks.contains("stays") && !networks.contains("goes"),
        "{networks}"
    );
    assert_eq!(lab.host("win1")["boots"], 2);
}

#[test]
#[ignore = "needs root and wine"]
fn two_labs_are_independent() {
    let _exclusive = exclusive();
    let before = SystemState::now();
    let (first, second) = (Lab::named("one"), Lab::named("two"));
    first.run(&["up", "--level", "wine", "--windows", "2019"]);
    second.run(&["up", "--level", "wine", "--windows", "2025"]);
    assert_ne!(first.address("win1"), second.address("win1"));
    assert!(first.cmd("win1", "ver").contains("17763"));
    assert!(second.cmd("win1", "ver").contains("26100"));
    first.run(&["down"]);
    assert!(second.cmd("win1", "ver").contains("26100"));
    second.run(&["down"]);
    assert_cleaned_up(&before, first.state());
    assert_cleaned_up(&before, second.state());
}

#[test]
#[ignore = "needs root"]
fn linux_only_lab_needs_no_wine() {
    let _exclusive = exclusive();
    let lab = Lab::named("linux");
    lab.run(&["up", "--level", "netns"]);
    let identity =
        succeed(&mut lab.ssh("root", "lin1", "hostname; echo kept > /usr/local/bin/mark"));
    assert_eq!(identity, "lin1\n");
    assert!(
        !fs::exists("/usr/local/bin/mark").unwrap(),
        "the lab host wrote to the real machine"
    );
    lab.run(&["reboot", "lin1"]);
    assert_eq!(
        succeed(&mut lab.ssh("root", "lin1", "cat /usr/local/bin/mark")),
        "kept\n"
    );
}
