//! `casement lab netd`: what stands behind a Windows host's network.
//!
//! One per host, in the host's namespace. It keeps the state of HNS, changes
//! the devices and routes, and runs the containers' processes, all for DLLs and
//! programs inside the prefix that cannot do so themselves.

use std::fs;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use lab_wire::{Answer, Call, Door, Failure, Request, read_line, write_line};
use serde_json::Value;

use crate::containers::{Containers, ContainersConfig};
use crate::host::furnish::inside;
use crate::network;
use crate::network::adapters::Adapters;
use crate::network::hns::{Hns, HnsConfig, HnsVersion, LinuxFabric};
use crate::problem::{self, AtPath, Problem, Result};
use crate::random;
use crate::state::record::HostKind;
use crate::wine;
use crate::wine::windows::WindowsRelease;

/// The port on a host's loopback address; the namespace is the host's own.
pub const PORT: u16 = 4020;
/// `E_ACCESSDENIED`.
const DENIED: u32 = 0x8007_0005;

/// Everything that one host's programs can ask for.
struct Netd {
    token: String,
    hns: Hns,
    adapters: Adapters,
    containers: Containers,
}

/// Makes the door of a host: a new token, and the file that tells it.
pub fn make_door(drive_c: &Path) -> Result<()> {
    let token = random::hex::<16>()?;
    let path = door_file(drive_c);
    let text = serde_json::to_string(&Door { port: PORT, token })
        .map_err(|error| problem::file("write", &path, &error.into()))?;
    fs::write(&path, text).at("write", &path)
}

fn door_file(drive_c: &Path) -> std::path::PathBuf {
    drive_c.join("windows/casement-lab.json")
}

/// Serves one host from its boot until it is off.
pub fn run(release: WindowsRelease, address: Ipv4Addr) -> Result<()> {
    let drive_c = Path::new(inside::PREFIX).join("drive_c");
    let path = door_file(&drive_c);
    let text = fs::read_to_string(&path).at("read", &path)?;
    let door: Door =
        serde_json::from_str(&text).map_err(|error| problem::file("read", &path, &error.into()))?;
    let netd = Arc::new(Netd {
        token: door.token,
        hns: open_hns(release, address)?,
        adapters: Adapters::default(),
        containers: containers(&drive_c, release)?,
    });
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, door.port)).at("listen for", Path::new("netd"))?;
    for connection in listener.incoming().flatten() {
        let netd = Arc::clone(&netd);
        thread::spawn(move || {
            // Whoever hangs up in the middle needs no answer.
            let _ = netd.talk(connection);
        });
    }
    Ok(())
}

fn open_hns(release: WindowsRelease, address: Ipv4Addr) -> Result<Hns> {
    let config = HnsConfig {
        version: HnsVersion::of_build(release.build()),
        state_file: Path::new(inside::HOST).join("hns.json"),
        nic: network::nic(HostKind::Windows(release)).to_owned(),
        management_ip: address,
        // Callers that do not wait for it must be found out here.
        address_delay: Duration::from_millis(300),
        boot: true,
    };
    Hns::open(config, Box::new(LinuxFabric::new())).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        Problem::new(
            "CAS-LAB-037",
            error.to_string(),
            "casement lab down, and up again",
        )
        .seen("it says", cause.unwrap_or_default())
    })
}

fn containers(drive_c: &Path, release: WindowsRelease) -> Result<Containers> {
    let containers = Containers::new(ContainersConfig {
        pod_template: inside::TEMPLATE.into(),
        work_dir: Path::new(inside::HOST).join("containers"),
        wine: wine::loader().to_owned(),
        host_drive_c: drive_c.to_owned(),
        release,
    });
    containers.sweep().map_err(|error| {
        Problem::new(
            "CAS-LAB-038",
            error.to_string(),
            "casement lab down, and up again",
        )
    })?;
    Ok(containers)
}

impl Netd {
    fn talk(&self, mut connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::new(connection.try_clone()?);
        let Some(request) = read_line::<Request>(&mut reader)? else {
            return Ok(());
        };
        if request.token != self.token {
            let text = "Access is denied.".to_owned();
            return write_line(
                &mut connection,
                &Answer::Err(Failure { code: DENIED, text }),
            );
        }
        let result = match &request.call {
            Call::Hcn(call) => self.hns.hcn(call).map(Value::String),
            Call::Hns(call) => self.hns.v1(call).map(Value::String),
            Call::Adapter(call) => self.adapters.call(call),
            Call::Container(call) => {
                let netns = |id: &str| self.hns.namespace_netns(id);
                self.containers.serve(call, reader, netns);
                return Ok(());
            }
        };
        let answer = match result {
            Ok(value) => Answer::Ok(value),
            Err(failure) => {
                // The log is where people look when a call was refused.
                eprintln!(
                    "{:#010x} {} <- {:?}",
                    failure.code, failure.text, request.call
                );
                Answer::Err(failure)
            }
        };
        write_line(&mut connection, &answer)
    }
}
