//! Files, folders, access.

use std::fs;
use std::io::Read;
use std::os::windows::fs::OpenOptionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use casement_node::platform::{EntryKind, Form};
use casement_node::state::records::Records;
use casement_resource::{Access, HostPath};

use super::{Check, Host, Outcome, did, equal, so};

/// Others may read it meanwhile, and do nothing else with it.
const FILE_SHARE_READ: u32 = 1;

pub const CHECKS: &[Check] = &[
    ("state folder", state_folder),
    ("file", file),
    ("closed file and folder", closed),
    ("running program is replaced", running),
    ("file that somebody holds open", held),
    ("state that somebody reads", read_meanwhile),
    ("tree", tree),
];

fn path(text: &str) -> HostPath {
    text.parse().unwrap()
}

fn form(access: Access) -> Form {
    Form {
        access,
        executable: false,
    }
}

fn state_folder(host: &Host) -> Outcome {
    did(host.layout.prepare(host.platform.as_ref()))?;
    did(host.layout.prepare(host.platform.as_ref()))
}

fn file(host: &Host) -> Outcome {
    let files = &host.platform;
    let name = path(r"C:\platformcheck.txt");
    equal(did(files.entry(&name))?, None)?;
    for text in ["one", "the other"] {
        did(files.write(&name, &mut text.as_bytes(), form(Access::Inherited)))?;
        equal(fs::read_to_string(name.as_str()).unwrap().as_str(), text)?;
        let mut read = String::new();
        did(files.open(&name))?.read_to_string(&mut read).unwrap();
        equal(read.as_str(), text)?;
    }
    let entry = did(files.entry(&name))?.unwrap();
    equal(entry.kind, EntryKind::File)?;
    did(files.remove_file(&name))?;
    did(files.remove_file(&name))?;
    so(
        !fs::exists(name.as_str()).unwrap(),
        "the file is still there",
    )
}

fn closed(host: &Host) -> Outcome {
    let files = &host.platform;
    let folder = path(r"C:\platformcheck");
    let name = path(r"C:\platformcheck\secret.txt");
    did(files.make_directory(&folder, Access::Inherited))?;
    let before = did(files.entry(&folder))?.unwrap().access;
    so(before.owner_trusted, "our own folder is not trusted")?;
    did(files.set_access(&folder, Access::AdministratorsOnly))?;
    did(files.write(&name, &mut "x".as_bytes(), form(Access::AdministratorsOnly)))?;
    for closed in [&folder, &name] {
        let access = did(files.entry(closed))?.unwrap().access;
        so(
            access.administrators_only,
            &format!("{closed} is open: {}", access.descriptor),
        )?;
    }
    did(files.restore_access(&folder, &before.descriptor))?;
    equal(did(files.entry(&folder))?.unwrap().access, before)?;
    equal(did(files.remove_empty_directory(&folder))?, false)?;
    did(files.remove_file(&name))?;
    equal(did(files.remove_empty_directory(&folder))?, true)
}

fn running(host: &Host) -> Outcome {
    let program = path(r"C:\platformcheck.exe");
    let agent = std::env::current_exe().unwrap();
    let write = || {
        let mut content = fs::File::open(&agent).unwrap();
        host.platform
            .write(&program, &mut content, form(Access::Inherited))
    };
    did(write())?;
    let mut child = Command::new(program.as_str())
        .args(["child", "wait"])
        .spawn()
        .unwrap();
    let replaced = did(write());
    so(child.try_wait().unwrap().is_none(), "the program has ended")?;
    child.kill().unwrap();
    child.wait().unwrap();
    replaced?;
    did(host.platform.remove_file(&program))?;
    let rest = did(host.platform.list(&path(r"C:\")))?;
    so(
        !rest.iter().any(|name| name.starts_with("platformcheck")),
        &format!("left: {rest:?}"),
    )
}

/// Refused as a whole, with the reason; fine as soon as it is let go.
fn read_meanwhile(host: &Host) -> Outcome {
    let save = || Records::load(&host.layout).and_then(|mut it| it.forget(&"x".parse().unwrap()));
    did(save())?;
    let file = host.layout.records();
    // As a scanner does.
    let held = fs::OpenOptions::new()
        .read(true)
        .share_mode(FILE_SHARE_READ)
        .open(&file)
        .unwrap();
    let reader = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        drop(held);
    });
    let saved = save();
    reader.join().unwrap();
    fs::remove_file(&file).unwrap();
    did(saved)
}

fn held(host: &Host) -> Outcome {
    let files = &host.platform;
    let name = path(r"C:\platformcheck.held");
    fs::write(name.as_str(), "theirs").unwrap();
    let handle = fs::OpenOptions::new()
        .read(true)
        .share_mode(0)
        .open(name.as_str())
        .unwrap();
    let write = || files.write(&name, &mut "ours".as_bytes(), form(Access::Inherited));
    let (replaced, removed) = (write(), files.remove_file(&name));
    drop(handle);
    equal(
        fs::read_to_string(name.as_str()).unwrap().as_str(),
        "theirs",
    )?;
    for refused in [replaced, removed] {
        let failure = refused.err().ok_or("a file that is in use was changed")?;
        so(
            failure.remedy.contains("holds the file open"),
            &format!("{failure:?}"),
        )?;
    }
    did(write())?;
    equal(fs::read_to_string(name.as_str()).unwrap().as_str(), "ours")?;
    did(files.remove_file(&name))?;
    let rest = did(files.list(&path(r"C:\")))?;
    so(
        !rest.iter().any(|name| name.starts_with("platformcheck")),
        &format!("left: {rest:?}"),
    )
}

fn tree(host: &Host) -> Outcome {
    fs::create_dir_all(r"C:\platformcheck\a\b").unwrap();
    fs::write(r"C:\platformcheck\a\b\c", "x").unwrap();
    equal(
        did(host.platform.list(&path(r"C:\platformcheck")))?,
        vec!["a".to_owned()],
    )?;
    did(host.platform.remove_tree(&path(r"C:\platformcheck")))?;
    did(host.platform.remove_tree(&path(r"C:\platformcheck")))?;
    equal(did(host.platform.entry(&path(r"C:\platformcheck")))?, None)
}
