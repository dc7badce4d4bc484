//! Windows hosts by themselves: no Go, no control plane.

use std::fs;
use std::process::Command;

use crate::machine::{Lab, Traces, alone, assert_no_trace, succeed, text};

#[test]
#[ignore = "needs root and wine"]
fn windows_hosts_come_up_answer_by_ssh_and_leave_no_trace() {
    let _alone = alone();
    let before = Traces::now();
    let lab = Lab::named("hosts");
    let said = lab.run(&["up", "--level", "wine", "--hosts", "2"]);
    assert!(said.contains("cluster.yaml"), "{said}");

    a_host_is_the_windows_that_was_asked_for(&lab);
    a_command_reaches_cmd_to_the_letter(&lab);
    files_go_by_sftp_as_on_windows(&lab);
    hosts_reach_each_other_and_nothing_else(&lab);
    a_second_up_changes_nothing(&lab);

    lab.run(&["down"]);
    assert_no_trace(&before, lab.state());
    let again = lab.run(&["down"]);
    assert!(again.contains("nothing to do"), "{again}");
}

fn a_host_is_the_windows_that_was_asked_for(lab: &Lab) {
    assert!(lab.cmd("win1", "ver").contains("10.0.20348"));
    let key = r#"reg query "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion" /v"#;
    assert!(lab.cmd("win1", &format!("{key} UBR")).contains("0xedf"));
    let product = lab.cmd("win1", &format!("{key} ProductName"));
    assert!(
        product.contains("Windows Server 2022 Datacenter"),
        "{product}"
    );
    let who = lab.cmd("win2", "echo %COMPUTERNAME% %USERNAME% %CD%");
    assert!(
        who.starts_with(r"WIN2 Administrator C:\users\Administrator"),
        "{who}"
    );
    assert!(
        lab.run(&["exec", "win1", "--", "cmd", "/c", "ver"])
            .contains("20348")
    );
}

fn a_command_reaches_cmd_to_the_letter(lab: &Lab) {
    assert_eq!(
        lab.cmd("win1", r#"echo "a  b" 'c' %OS% & echo x"#),
        "\"a  b\" 'c' Windows_NT \r\nx\r\n"
    );
    let failed = lab.ssh("Administrator", "win1", "exit 7").output().unwrap();
    assert_eq!(failed.status.code(), Some(7), "{}", text(&failed));
    // A stub that exits 0 and does nothing would be worse than none.
    let powershell = lab
        .ssh("Administrator", "win1", "powershell -Command exit 0")
        .output()
        .unwrap();
    assert!(!powershell.status.success(), "{}", text(&powershell));
}

fn files_go_by_sftp_as_on_windows(lab: &Lab) {
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

fn hosts_reach_each_other_and_nothing_else(lab: &Lab) {
    let pid = lab.host("win1")["pid"].to_string();
    let script = format!(
        "exec 3<>/dev/tcp/{}/22 && head -c 4 <&3",
        lab.address("win2")
    );
    let words = ["--target", &pid, "--net", "bash", "-c", &script];
    assert_eq!(succeed(Command::new("nsenter").args(words)), "SSH-");
    // Asks for the way and sends nothing: from a host to anywhere else there is none.
    let address = lab.address("win1");
    let slot = address.split('.').nth(2).unwrap();
    let bridge = format!("cas{slot}");
    let words = [
        "route",
        "get",
        "203.0.113.1",
        "from",
        &address,
        "iif",
        &bridge,
    ];
    let way = Command::new("ip").args(words).output().unwrap();
    assert!(text(&way).contains("No route to host"), "{}", text(&way));
}

fn a_second_up_changes_nothing(lab: &Lab) {
    let boots = |host: &str| lab.host(host)["boots"].as_u64();
    let before = boots("win1");
    let said = lab.run(&["up", "--level", "wine", "--hosts", "2"]);
    assert!(said.starts_with("Already up"), "{said}");
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
fn a_reboot_starts_services_by_their_start_type() {
    let _alone = alone();
    let lab = Lab::named("reboot");
    lab.run(&["up", "--level", "wine"]);
    let boot_id = || {
        let key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";
        lab.cmd("win1", &format!("reg query \"{key}\" /v BootId"))
    };
    assert!(boot_id().contains("0x1"));
    // A service that comes with Wine and is started on demand at first.
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
fn two_labs_side_by_side_do_not_disturb_each_other() {
    let _alone = alone();
    let before = Traces::now();
    let (first, second) = (Lab::named("one"), Lab::named("two"));
    first.run(&["up", "--level", "wine", "--windows", "2019"]);
    second.run(&["up", "--level", "wine", "--windows", "2025"]);
    assert_ne!(first.address("win1"), second.address("win1"));
    assert!(first.cmd("win1", "ver").contains("17763"));
    assert!(second.cmd("win1", "ver").contains("26100"));
    first.run(&["down"]);
    assert!(second.cmd("win1", "ver").contains("26100"));
    second.run(&["down"]);
    assert_no_trace(&before, second.state());
}

#[test]
#[ignore = "needs root"]
fn a_linux_host_alone_needs_no_wine() {
    let _alone = alone();
    let lab = Lab::named("linux");
    lab.run(&["up", "--level", "netns"]);
    let who = succeed(&mut lab.ssh("root", "lin1", "hostname; echo kept > /usr/local/bin/mark"));
    assert_eq!(who, "lin1\n");
    assert!(
        !fs::exists("/usr/local/bin/mark").unwrap(),
        "a host wrote to the machine"
    );
    lab.run(&["reboot", "lin1"]);
    assert_eq!(
        succeed(&mut lab.ssh("root", "lin1", "cat /usr/local/bin/mark")),
        "kept\n"
    );
}
