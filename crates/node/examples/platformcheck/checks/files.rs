//! Files, directories and access.

use std::fs;
use std::io::Read;
use std::os::windows::fs::OpenOptionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use casement_node::platform::{EntryKind, WriteOptions};
use casement_node::state::records::Records;
use casement_resource::{Access, HostPath};

use super::watcher::Watcher;
use super::{Check, Host, Outcome, ensure, equal, ok};
use windows_sys::Win32::Storage::FileSystem::{FILE_ACTION_REMOVED, FILE_ACTION_RENAMED_NEW_NAME};

/// Other processes may open the file for reading only.
const FILE_SHARE_READ: u32 = 1;

pub const CHECKS: &[Check] = &[
    ("state directory", state_directory),
    ("file", file),
    ("file that a program watches", watched),
    ("restricted file and directory", restricted),
    ("running program is replaced", running),
    ("file in use", in_use),
    ("state file in use", state_file_in_use),
    ("directory tree", directory_tree),
];

fn path(text: &str) -> HostPath {
    text.parse().unwrap()
}

fn options(access: Access) -> WriteOptions {
    WriteOptions {
        access,
        executable: false,
    }
}

fn state_directory(host: &Host) -> Outcome {
    ok(host.layout.prepare(host.platform.as_ref()))?;
    ok(host.layout.prepare(host.platform.as_ref()))
}

fn file(host: &Host) -> Outcome {
    let files = &host.platform;
    let name = path(r"C:\platformcheck.txt");
    equal(ok(files.entry(&name))?, None)?;
    for text in ["one", "the other"] {
        ok(files.write(&name, &mut text.as_bytes(), options(Access::Inherited)))?;
        equal(fs::read_to_string(name.as_str()).unwrap().as_str(), text)?;
        let mut read = String::new();
        ok(files.open(&name))?.read_to_string(&mut read).unwrap();
        equal(read.as_str(), text)?;
    }
    let entry = ok(files.entry(&name))?.unwrap();
    equal(entry.kind, EntryKind::File)?;
    ok(files.remove_file(&name))?;
    ok(files.remove_file(&name))?;
    ensure(
        !fs::exists(name.as_str()).unwrap(),
        "the file is still there",
    )
}

/// The rename is notified while its handle still keeps Go programs from opening the file:
/// another notification must follow, and not one of a created file, which containerd ignores.
fn watched(host: &Host) -> Outcome {
    let dir = path(r"C:\platformcheck-watched");
    ok(host.platform.create_directory(&dir, Access::Inherited))?;
    let name = path(r"C:\platformcheck-watched\10-x.conflist");
    for text in ["first", "second"] {
        let watcher = Watcher::start(dir.as_str().as_ref());
        ok(host
            .platform
            .write(&name, &mut text.as_bytes(), options(Access::Inherited)))?;
        let seen = watcher.finish("10-x.conflist");
        let renamed = (FILE_ACTION_RENAMED_NEW_NAME, "10-x.conflist".to_owned());
        ensure(seen.contains(&renamed), &format!("no rename: {seen:?}"))?;
        let last = seen.last().map(|(action, _)| *action);
        ensure(
            last == Some(FILE_ACTION_REMOVED),
            &format!("nothing after the rename: {seen:?}"),
        )?;
    }
    ok(host.platform.remove_tree(&dir))
}

fn restricted(host: &Host) -> Outcome {
    let files = &host.platform;
    let dir = path(r"C:\platformcheck");
    let name = path(r"C:\platformcheck\secret.txt");
    ok(files.create_directory(&dir, Access::Inherited))?;
    let before = ok(files.entry(&dir))?.unwrap().access;
    ensure(before.owner_trusted, "our own directory is not trusted")?;
    ok(files.set_access(&dir, Access::AdministratorsOnly))?;
    ok(files.write(
        &name,
        &mut "x".as_bytes(),
        options(Access::AdministratorsOnly),
    ))?;
    for restricted in [&dir, &name] {
        let access = ok(files.entry(restricted))?.unwrap().access;
        ensure(
            access.administrators_only,
            &format!("{restricted} is not restricted: {}", access.descriptor),
        )?;
    }
    ok(files.restore_access(&dir, &before.descriptor))?;
    equal(ok(files.entry(&dir))?.unwrap().access, before)?;
    equal(ok(files.remove_empty_directory(&dir))?, false)?;
    ok(files.remove_file(&name))?;
    equal(ok(files.remove_empty_directory(&dir))?, true)
}

fn running(host: &Host) -> Outcome {
    let program = path(r"C:\platformcheck.exe");
    let agent = std::env::current_exe().unwrap();
    let write = || {
        let mut content = fs::File::open(&agent).unwrap();
        host.platform
            .write(&program, &mut content, options(Access::Inherited))
    };
    ok(write())?;
    let mut child = Command::new(program.as_str())
        .args(["child", "wait"])
        .spawn()
        .unwrap();
    let replaced = ok(write());
    ensure(child.try_wait().unwrap().is_none(), "the program exited")?;
    child.kill().unwrap();
    child.wait().unwrap();
    replaced?;
    ok(host.platform.remove_file(&program))?;
    let rest = ok(host.platform.list(&path(r"C:\")))?;
    ensure(
        !rest.iter().any(|name| name.starts_with("platformcheck")),
        &format!("left: {rest:?}"),
    )
}

/// A write is retried until the reader closes the file.
fn state_file_in_use(host: &Host) -> Outcome {
    let save = || Records::load(&host.layout).and_then(|mut it| it.remove(&"x".parse().unwrap()));
    ok(save())?;
    let file = host.layout.records();
    // As a virus scanner does.
    let in_use = fs::OpenOptions::new()
        .read(true)
        .share_mode(FILE_SHARE_READ)
        .open(&file)
        .unwrap();
    let reader = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        drop(in_use);
    });
    let saved = save();
    reader.join().unwrap();
    fs::remove_file(&file).unwrap();
    ok(saved)
}

fn in_use(host: &Host) -> Outcome {
    let files = &host.platform;
    let name = path(r"C:\platformcheck.in_use");
    fs::write(name.as_str(), "theirs").unwrap();
    let handle = fs::OpenOptions::new()
        .read(true)
        .share_mode(0)
        .open(name.as_str())
        .unwrap();
    let write = || files.write(&name, &mut "ours".as_bytes(), options(Access::Inherited));
    let (replaced, removed) = (write(), files.remove_file(&name));
    drop(handle);
    equal(
        fs::read_to_string(name.as_str()).unwrap().as_str(),
        "theirs",
    )?;
    for refused in [replaced, removed] {
        let failure = refused.err().ok_or("a file in use was changed")?;
        ensure(
            failure.help.contains("holds the file open"),
            &format!("{failure:?}"),
        )?;
    }
    ok(write())?;
    equal(fs::read_to_string(name.as_str()).unwrap().as_str(), "ours")?;
    ok(files.remove_file(&name))?;
    let rest = ok(files.list(&path(r"C:\")))?;
    ensure(
        !rest.iter().any(|name| name.starts_with("platformcheck")),
        &format!("left: {rest:?}"),
    )
}

fn directory_tree(host: &Host) -> Outcome {
    fs::create_dir_all(r"C:\platformcheck\a\b").unwrap();
    fs::write(r"C:\platformcheck\a\b\c", "x").unwrap();
    equal(
        ok(host.platform.list(&path(r"C:\platformcheck")))?,
        vec!["a".to_owned()],
    )?;
    ok(host.platform.remove_tree(&path(r"C:\platformcheck")))?;
    ok(host.platform.remove_tree(&path(r"C:\platformcheck")))?;
    equal(ok(host.platform.entry(&path(r"C:\platformcheck")))?, None)
}
