//! `casement lab netd`: the Linux side of a Windows host.
//!
//! Runs once per host, in the host's namespaces. It keeps the HNS state, changes
//! devices and routes, and runs container processes on behalf of the DLLs and
//! programs in the Wine prefix, which cannot do so themselves.

use std::fs;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use lab_wire::{Call, Failure, NetdAccess, Request, Response, read_line, write_line};
use serde_json::Value;

use crate::containers::{Containers, ContainersConfig};
use crate::host::rootfs::inside;
use crate::network;
use crate::network::adapters::Adapters;
use crate::network::hns::{Hns, HnsConfig, HnsVersion, LinuxFabric};
use crate::problem::{self, AtPath, Problem, Result};
use crate::random;
use crate::state::paths::{lab_command, recreate};
use crate::state::record::HostKind;
use crate::wine;
use crate::wine::windows::WindowsRelease;

/// On the loopback address of the host's own network namespace.
pub const PORT: u16 = 4020;
/// `E_ACCESSDENIED`.
const DENIED: u32 = 0x8007_0005;

struct Netd {
    token: String,
    hns: Hns,
    adapters: Adapters,
    containers: Containers,
}

/// Creates a new token and writes the file with which programs connect.
pub fn write_access_file(drive_c: &Path) -> Result<()> {
    let token = random::hex::<16>()?;
    let path = access_file(drive_c);
    let text = serde_json::to_string(&NetdAccess { port: PORT, token })
        .map_err(|error| problem::internal("encode the access data of netd", &error))?;
    fs::write(&path, text).at("write", &path)
}

fn access_file(drive_c: &Path) -> std::path::PathBuf {
    drive_c.join("windows/casement-lab.json")
}

/// It is written on every boot.
fn invalid_access_file(path: &Path, lab: &str, error: &serde_json::Error) -> Problem {
    Problem::new(
        "CAS-LAB-025",
        format!("`{}` is not valid", path.display()),
        format!("run `{}` for this host", lab_command(lab, "reboot HOST")),
    )
    .detail("cause", error)
}

/// Serves until the host is off. `lab` is the name of the lab.
pub fn run(lab: &str, release: WindowsRelease, address: Ipv4Addr) -> Result<()> {
    let drive_c = Path::new(inside::PREFIX).join("drive_c");
    let path = access_file(&drive_c);
    let text = fs::read_to_string(&path).at("read", &path)?;
    let access: NetdAccess =
        serde_json::from_str(&text).map_err(|error| invalid_access_file(&path, lab, &error))?;
    let netd = Arc::new(Netd {
        token: access.token,
        hns: open_hns(lab, release, address)?,
        adapters: Adapters::default(),
        containers: containers(lab, &drive_c, release)?,
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, access.port))
        .map_err(|error| problem::port("netd", access.port, &error))?;
    for connection in listener.incoming().flatten() {
        let netd = Arc::clone(&netd);
        thread::spawn(move || {
            // A client that disconnects needs no response.
            let _ = netd.serve(connection);
        });
    }
    Ok(())
}

fn open_hns(lab: &str, release: WindowsRelease, address: Ipv4Addr) -> Result<Hns> {
    let config = HnsConfig {
        version: HnsVersion::of_build(release.build()),
        state_file: Path::new(inside::HOST).join("hns.json"),
        nic: network::nic(HostKind::Windows(release)).to_owned(),
        management_ip: address,
        // Exposes callers that do not wait for the address.
        address_delay: Duration::from_millis(300),
        boot: true,
    };
    Hns::open(config, Box::new(LinuxFabric::new())).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        Problem::new("CAS-LAB-037", error.to_string(), recreate(lab))
            .detail("cause", cause.unwrap_or_default())
    })
}

fn containers(lab: &str, drive_c: &Path, release: WindowsRelease) -> Result<Containers> {
    let containers = Containers::new(ContainersConfig {
        pod_template: inside::TEMPLATE.into(),
        work_dir: Path::new(inside::HOST).join("containers"),
        wine: wine::loader().to_owned(),
        host_drive_c: drive_c.to_owned(),
        release,
    });
    containers
        .remove_stale()
        .map_err(|error| Problem::new("CAS-LAB-038", error.to_string(), recreate(lab)))?;
    Ok(containers)
}

impl Netd {
    fn serve(&self, mut connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::new(connection.try_clone()?);
        let Some(request) = read_line::<Request>(&mut reader)? else {
            return Ok(());
        };
        if request.token != self.token {
            let text = "Access is denied.".to_owned();
            return write_line(
                &mut connection,
                &Response::Err(Failure { code: DENIED, text }),
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
        let response = match result {
            Ok(value) => Response::Ok(value),
            Err(failure) => {
                // Goes to netd.log, where users look up rejected calls.
                eprintln!(
                    "{:#010x} {} <- {:?}",
                    failure.code, failure.text, request.call
                );
                Response::Err(failure)
            }
        };
        write_line(&mut connection, &response)
    }
}
