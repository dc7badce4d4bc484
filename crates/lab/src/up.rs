//! `casement lab up`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::check;
use crate::containers::lab_registry;
use crate::control_plane;
use crate::control_plane::parts;
use crate::host::capsule;
use crate::host::init;
use crate::host::linux_host;
use crate::host::ssh;
use crate::network;
use crate::problem::{AtPath, Problem, Result};
use crate::progress::Progress;
use crate::state::files;
use crate::state::lock::Lock;
use crate::state::places::{LabName, Places};
use crate::state::record::{CONTROL_PLANE, Host, HostKind, Record, host_folder};
use crate::wait;
use crate::wine::template;
use crate::wine::windows::WindowsRelease;
use crate::wine::windows_parts;

/// What a person asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// A control plane, and a Linux host beside it.
    pub kube: bool,
    /// A Linux host.
    pub netns: bool,
    /// How many Windows hosts.
    pub windows_hosts: u8,
    /// Which Windows they are.
    pub release: WindowsRelease,
}

/// How `up` ended.
#[derive(Debug)]
pub struct Up {
    /// The lab's folder.
    pub folder: PathBuf,
    /// What is in it.
    pub record: Record,
    /// Whether it was there before and nothing had to be done.
    pub already: bool,
}

/// Brings a lab up; a second time it starts what does not run.
pub fn up(places: &Places, name: &LabName, wanted: &Wanted, progress: &Progress) -> Result<Up> {
    check::machine(wanted)?;
    let lab = places.lab(name);
    let _lock = Lock::take_making(&lab, "this lab")?;
    let mut record = match Record::load(&lab)? {
        Some(record) => same_as(record, wanted)?,
        None => prepare(places, &lab, name, wanted, progress)?,
    };
    let all_run = record.hosts.iter().all(|host| is_ready(&lab, &host.name));
    if !all_run {
        start(&lab, &mut record, progress)?;
    }
    Ok(Up {
        folder: lab,
        record,
        already: all_run,
    })
}

/// Whether a host runs and has finished starting.
pub fn is_ready(lab: &Path, host: &str) -> bool {
    capsule::find(lab, host).is_some() && host_folder(lab, host).join(init::READY).exists()
}

fn hosts(wanted: &Wanted) -> Vec<Host> {
    let host = |name: String, kind, number| Host {
        name,
        kind,
        number,
        boots: 0,
    };
    let mut hosts = Vec::new();
    if wanted.kube {
        hosts.push(host(CONTROL_PLANE.to_owned(), HostKind::ControlPlane, 10));
    }
    for number in 1..=wanted.windows_hosts {
        let kind = HostKind::Windows(wanted.release);
        hosts.push(host(format!("win{number}"), kind, 10 + number));
    }
    if wanted.kube || wanted.netns {
        hosts.push(host("lin1".to_owned(), HostKind::Linux, 201));
    }
    hosts
}

fn same_as(record: Record, wanted: &Wanted) -> Result<Record> {
    let shape = |hosts: &[Host]| -> Vec<(String, HostKind)> {
        hosts.iter().map(|h| (h.name.clone(), h.kind)).collect()
    };
    let wanted = hosts(wanted);
    if shape(&record.hosts) == shape(&wanted) {
        return Ok(record);
    }
    let list = |hosts: &[Host]| {
        let words: Vec<String> = hosts
            .iter()
            .map(|host| match host.kind {
                HostKind::Windows(release) => format!("{} ({})", host.name, release.year()),
                _ => host.name.clone(),
            })
            .collect();
        words.join(", ")
    };
    Err(Problem::new(
        "CAS-LAB-016",
        format!("lab `{}` is there already, and is another one", record.name),
        format!(
            "casement lab down --name {} first; or leave it and take another name: \
             casement lab up --name second",
            record.name
        ),
    )
    .seen("there is", list(&record.hosts))
    .seen("asked for", list(&wanted)))
}

/// Builds what is missing and writes the lab down, before anything is started.
fn prepare(
    places: &Places,
    lab: &Path,
    name: &LabName,
    wanted: &Wanted,
    progress: &Progress,
) -> Result<Record> {
    let cache = places.cache();
    let building = Lock::wait_for(cache)?;
    let parts = wanted
        .kube
        .then(|| parts::ensure(cache, progress))
        .transpose()?;
    let windows = (wanted.windows_hosts > 0)
        .then(|| windows_parts::ensure(cache, progress))
        .transpose()?;
    let template = match &windows {
        Some(windows) => Some(template::ensure(cache, windows, progress)?),
        None => None,
    };
    drop(building);
    let mut record = Record {
        name: name.as_str().to_owned(),
        slot: 0,
        hosts: hosts(wanted),
        parts,
        windows,
        template,
    };
    network::settle(&mut record, lab)?;
    Ok(record)
}

fn start(lab: &Path, record: &mut Record, progress: &Progress) -> Result<()> {
    let program = install(lab, record)?;
    network::raise(record, lab)?;
    let missing: Vec<String> = record
        .hosts
        .iter()
        .filter(|host| !is_ready(lab, &host.name))
        .map(|host| host.name.clone())
        .collect();
    for name in &missing {
        switch_on(&program, lab, record, name)?;
    }
    wait_ready(lab, record, &missing, progress)?;
    if record.has_control_plane() {
        linux_host::give_pod_network(lab, record)?;
    }
    files::write(lab, record)
}

/// Puts the lab's own copies of what its hosts need into its folder.
fn install(lab: &Path, record: &Record) -> Result<PathBuf> {
    for name in ["bin", "shared"] {
        let folder = lab.join(name);
        fs::create_dir_all(&folder).at("make", &folder)?;
    }
    for host in &record.hosts {
        let folder = host_folder(lab, &host.name);
        fs::create_dir_all(&folder).at("make", &folder)?;
    }
    let program = lab.join("bin/casement");
    if !program.exists() {
        let own = Path::new("/proc/self/exe");
        fs::copy(own, &program).at("copy", own)?;
    }
    ssh::make_keys(record, lab)?;
    if record.has_control_plane() {
        lab_registry::write_certificates(record, lab)?;
    }
    Ok(program)
}

/// Starts one host: namespaces, cable, and its own first process.
pub fn switch_on(program: &Path, lab: &Path, record: &mut Record, name: &str) -> Result<()> {
    capsule::stop(lab, name)?;
    let folder = host_folder(lab, name);
    let ready = folder.join(init::READY);
    if ready.exists() {
        fs::remove_file(&ready).at("remove", &ready)?;
    }
    for host in &mut record.hosts {
        if host.name == name {
            host.boots += 1;
        }
    }
    record.save(lab)?;
    let capsule = capsule::start(program, lab, name, &folder.join("init.log"))?;
    network::plug(record, record.host(name)?, &capsule)
}

/// Waits until hosts that were just switched on have started, and tells of each
/// when it has; a host that does not start ends the wait with what it said.
pub fn wait_ready(
    lab: &Path,
    record: &Record,
    names: &[String],
    progress: &Progress,
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
            } else if !ready && capsule::find(lab, name).is_none() {
                failed = Some(did_not_start(lab, name, "stopped while it was starting"));
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
        Err(did_not_start(lab, name, "is not ready after 120 s"))
    })
}

fn did_not_start(lab: &Path, name: &str, how: &str) -> Problem {
    let folder = host_folder(lab, name);
    let said = fs::read_to_string(folder.join("init.log")).unwrap_or_default();
    Problem::new(
        "CAS-LAB-034",
        format!("host `{name}` {how}"),
        "casement lab down takes everything away; then try again",
    )
    .seen("it says", crate::command::last_lines(&said, 10))
    .seen("more in", folder.join("log").display())
}

fn describe(record: &Record, host: &Host) -> String {
    let system = match host.kind {
        HostKind::ControlPlane => {
            format!("Kubernetes {}", parts::KUBERNETES.trim_start_matches('v'))
        }
        HostKind::Linux => "Linux".to_owned(),
        HostKind::Windows(release) => release.to_string(),
    };
    let address = record.address(host).to_string();
    format!("{:<13}  {system:<38}  {address:<13}", host.name)
}

/// The address of the lab's registry, as image names begin.
pub fn registry_name(record: &Record) -> String {
    format!(
        "{}:{}",
        record.control_plane(),
        control_plane::REGISTRY_PORT
    )
}
