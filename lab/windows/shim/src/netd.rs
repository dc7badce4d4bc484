//! Client of the host's `netd`.

use std::fs;
use std::io::{self, BufReader};
use std::net::TcpStream;

use containerd_shim::Error;
use containerd_shim::protos::ttrpc;
use lab_wire::container::{ContainerCall, StartProcess, Started};
use lab_wire::{Call, NETD_ACCESS_FILE, NetdAccess, Response};
use serde_json::Value;

pub fn call(call: ContainerCall) -> Result<Value, Error> {
    let response = netd_access()
        .and_then(|access| access.call(Call::Container(call)))
        .map_err(unreachable)?;
    into_result(response)
}

/// Starts a process; the returned connection carries its streams.
pub fn start(start: StartProcess) -> Result<(Started, BufReader<TcpStream>), Error> {
    let (response, stream) = netd_access()
        .and_then(|access| access.open(Call::Container(ContainerCall::Start(start))))
        .map_err(unreachable)?;
    Ok((serde_json::from_value(into_result(response)?)?, stream))
}

/// Read on each call: the access data changes when `netd` restarts.
fn netd_access() -> io::Result<NetdAccess> {
    Ok(serde_json::from_slice(&fs::read(NETD_ACCESS_FILE)?)?)
}

fn into_result(response: Response) -> Result<Value, Error> {
    const NOT_FOUND: u32 = 1168;
    match response {
        Response::Ok(value) => Ok(value),
        Response::Err(failure) if failure.code == NOT_FOUND => {
            Err(Error::NotFoundError(failure.text))
        }
        Response::Err(failure) => Err(unknown_error(&failure.text)),
    }
}

fn unreachable(error: io::Error) -> Error {
    unknown_error(&format!("failed to reach netd: {error}"))
}

/// An error whose text appears unchanged in the events of the pod.
fn unknown_error(text: &str) -> Error {
    let status = ttrpc::get_status(ttrpc::Code::UNKNOWN, text);
    Error::Ttrpc(ttrpc::Error::RpcStatus(status))
}
