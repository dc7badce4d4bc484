//! `casement lab up`: creates a lab, or starts the hosts that are off.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::check;
use crate::containers::lab_registry;
use crate::control_plane;
use crate::control_plane::binaries;
use crate::host::init;
use crate::host::instance;
use crate::host::linux_host;
use crate::host::ssh;
use crate::network;
use crate::problem::{AtPath, Problem, Result};
use crate::progress::LabProgress;
use crate::state::files;
use crate::state::lock::Lock;
use crate::state::paths::{LabName, LabPaths, lab_name, recreate};
use crate::state::record::{CONTROL_PLANE, Host, HostKind, Record, host_dir};
use crate::wait;
use crate::wine::template;
use crate::wine::windows::WindowsRelease;
use crate::wine::windows_programs;

#[derive(Debug, Clone)]
pub struct LabOptions {
    /// A control plane and a Linux host.
    pub kube: bool,
    /// A Linux host.
    pub netns: bool,
    pub windows_hosts: u8,
    pub release: WindowsRelease,
}

#[derive(Debug)]
pub struct Up {
    pub dir: PathBuf,
    pub record: Record,
    /// True if all hosts were running and the files were written already.
    pub already: bool,
}

/// Idempotent: a second call starts only the hosts that are not running.
pub fn up(
    paths: &LabPaths,
    name: &LabName,
    options: &LabOptions,
    progress: &LabProgress,
) -> Result<Up> {
    check::requirements(options)?;
    let lab = paths.lab(name);
    let _lock = Lock::create_and_take(&lab, "this lab")?;
    let mut record = match Record::load(&lab)? {
        Some(record) => check_same_hosts(record, options)?,
        None => prepare(paths, &lab, name, options, progress)?,
    };
    let all_ready = record.hosts.iter().all(|host| is_ready(&lab, &host.name));
    // An earlier `up` may have failed after the hosts were ready.
    let already = all_ready && files::are_written(&lab);
    if !already {
        start(&lab, &mut record, progress)?;
    }
    Ok(Up {
        dir: lab,
        record,
        already,
    })
}

/// Whether a host is running and has finished starting.
pub fn is_ready(lab: &Path, host: &str) -> bool {
    instance::find(lab, host).is_some() && host_dir(lab, host).join(init::READY).exists()
}

fn hosts(options: &LabOptions) -> Vec<Host> {
    let host = |name: String, kind, number| Host {
        name,
        kind,
        number,
        boots: 0,
    };
    let mut hosts = Vec::new();
    if options.kube {
        hosts.push(host(CONTROL_PLANE.to_owned(), HostKind::ControlPlane, 10));
    }
    for number in 1..=options.windows_hosts {
        let kind = HostKind::Windows(options.release);
        hosts.push(host(format!("win{number}"), kind, 10 + number));
    }
    if options.kube || options.netns {
        hosts.push(host("lin1".to_owned(), HostKind::Linux, 201));
    }
    hosts
}

fn check_same_hosts(record: Record, options: &LabOptions) -> Result<Record> {
    let shape = |hosts: &[Host]| -> Vec<(String, HostKind)> {
        hosts.iter().map(|h| (h.name.clone(), h.kind)).collect()
    };
    let requested = hosts(options);
    if shape(&record.hosts) == shape(&requested) {
        return Ok(record);
    }
    let list = |hosts: &[Host]| {
        let names: Vec<String> = hosts
            .iter()
            .map(|host| match host.kind {
                HostKind::Windows(release) => format!("{} ({})", host.name, release.year()),
                _ => host.name.clone(),
            })
            .collect();
        names.join(", ")
    };
    Err(Problem::new(
        "CAS-LAB-016",
        format!("lab `{}` already exists with different hosts", record.name),
        format!(
            "run `casement lab down --name {}` first, or choose another name: \
             `casement lab up --name second`",
            record.name
        ),
    )
    .detail("existing", list(&record.hosts))
    .detail("requested", list(&requested)))
}

/// Builds what is missing and saves the record before any host is started.
fn prepare(
    paths: &LabPaths,
    lab: &Path,
    name: &LabName,
    options: &LabOptions,
    progress: &LabProgress,
) -> Result<Record> {
    let cache = paths.cache();
    let building = Lock::wait_for(cache)?;
    let binaries = options
        .kube
        .then(|| binaries::ensure(cache, progress))
        .transpose()?;
    let windows = (options.windows_hosts > 0)
        .then(|| windows_programs::ensure(cache, progress))
        .transpose()?;
    let template = match &windows {
        Some(windows) => Some(template::ensure(cache, windows, progress)?),
        None => None,
    };
    drop(building);
    let mut record = Record {
        name: name.as_str().to_owned(),
        slot: 0,
        hosts: hosts(options),
        binaries,
        windows,
        template,
    };
    network::allocate(&mut record, lab)?;
    Ok(record)
}

fn start(lab: &Path, record: &mut Record, progress: &LabProgress) -> Result<()> {
    let program = install(lab, record)?;
    network::set_up(record, lab)?;
    let missing: Vec<String> = record
        .hosts
        .iter()
        .filter(|host| !is_ready(lab, &host.name))
        .map(|host| host.name.clone())
        .collect();
    for name in &missing {
        start_host(&program, lab, record, name)?;
    }
    if !missing.is_empty() {
        wait_ready(lab, record, &missing, progress)?;
    }
    if record.has_control_plane() {
        linux_host::set_up_pod_network(lab, record)?;
    }
    files::write(lab, record)
}

/// Creates the lab's directories, keys and its own copy of casement, so that a
/// rebuild of casement does not affect a running lab.
fn install(lab: &Path, record: &Record) -> Result<PathBuf> {
    for name in ["bin", "shared"] {
        let dir = lab.join(name);
        fs::create_dir_all(&dir).at("create", &dir)?;
    }
    for host in &record.hosts {
        let dir = host_dir(lab, &host.name);
        fs::create_dir_all(&dir).at("create", &dir)?;
    }
    let program = lab.join("bin/casement");
    if !program.exists() {
        let current = Path::new("/proc/self/exe");
        fs::copy(current, &program).at("copy", current)?;
    }
    ssh::make_keys(record, lab)?;
    if record.has_control_plane() {
        lab_registry::write_certificates(record, lab)?;
    }
    Ok(program)
}

/// Starts one host: namespaces, network link and init process.
pub fn start_host(program: &Path, lab: &Path, record: &mut Record, name: &str) -> Result<()> {
    instance::stop(lab, name)?;
    let dir = host_dir(lab, name);
    let ready = dir.join(init::READY);
    if ready.exists() {
        fs::remove_file(&ready).at("remove", &ready)?;
    }
    for host in &mut record.hosts {
        if host.name == name {
            host.boots += 1;
        }
    }
    record.save(lab)?;
    let instance = instance::start(program, lab, name, &dir.join("init.log"))?;
    network::connect(record, record.host(name)?, &instance)
}

/// Waits until the named hosts are ready and reports each of them. The first host
/// that fails to start ends the wait.
pub fn wait_ready(
    lab: &Path,
    record: &Record,
    names: &[String],
    progress: &LabProgress,
) -> Result<()> {
    let since = Instant::now();
    let mut missing = names.to_vec();
    let starting = progress.begin(&format!("starting {}", names.join(", ")), "");
    let outcome = wait::until(Duration::from_secs(120), || {
        let mut failed = None;
        missing.retain(|name| {
            let ready = is_ready(lab, name);
            if ready && let Ok(host) = record.host(name) {
                starting.done(&describe(record, host), since.elapsed());
            } else if !ready && instance::find(lab, name).is_none() {
                failed = Some(start_problem(lab, name, "stopped while starting"));
            }
            !ready
        });
        match failed {
            Some(problem) => Some(Err(problem)),
            None => missing.is_empty().then_some(Ok(())),
        }
    });
    drop(starting);
    outcome.unwrap_or_else(|| {
        let name = missing.first().map_or("", String::as_str);
        Err(start_problem(lab, name, "was not ready after 120 s"))
    })
}

fn start_problem(lab: &Path, name: &str, reason: &str) -> Problem {
    let dir = host_dir(lab, name);
    let output = fs::read_to_string(dir.join("init.log")).unwrap_or_default();
    Problem::new(
        "CAS-LAB-034",
        format!("host `{name}` {reason}"),
        recreate(&lab_name(lab)),
    )
    .detail("output", crate::command::last_lines(&output, 10))
    .detail("logs", dir.join("log").display())
}

fn describe(record: &Record, host: &Host) -> String {
    let system = match host.kind {
        HostKind::ControlPlane => {
            format!(
                "Kubernetes {}",
                binaries::KUBERNETES.trim_start_matches('v')
            )
        }
        HostKind::Linux => "Linux".to_owned(),
        HostKind::Windows(release) => release.to_string(),
    };
    let address = record.address(host).to_string();
    format!("{:<13}  {system:<38}  {address:<13}", host.name)
}

/// The lab's registry as the prefix of an image name.
pub fn registry_name(record: &Record) -> String {
    format!(
        "{}:{}",
        record.control_plane(),
        control_plane::REGISTRY_PORT
    )
}

#[cfg(test)]
mod tests;
