//! The way to the host's `netd`.

use std::fs;
use std::io::{self, BufReader};
use std::net::TcpStream;

use containerd_shim::Error;
use containerd_shim::protos::ttrpc;
use lab_wire::container::{ContainerCall, ProcessStart, Started};
use lab_wire::{Answer, Call, DOOR_FILE, Door};
use serde_json::Value;

/// A call with nothing after the answer.
pub fn call(call: ContainerCall) -> Result<Value, Error> {
    let answer = door()
        .and_then(|door| door.call(Call::Container(call)))
        .map_err(unreachable)?;
    accepted(answer)
}

/// Starts a process; its streams are on the connection.
pub fn start(start: ProcessStart) -> Result<(Started, BufReader<TcpStream>), Error> {
    let (answer, stream) = door()
        .and_then(|door| door.open(Call::Container(ContainerCall::Start(start))))
        .map_err(unreachable)?;
    Ok((serde_json::from_value(accepted(answer)?)?, stream))
}

/// Read anew for each call: a `netd` that was started again has another door.
fn door() -> io::Result<Door> {
    Ok(serde_json::from_slice(&fs::read(DOOR_FILE)?)?)
}

fn accepted(answer: Answer) -> Result<Value, Error> {
    const NOT_FOUND: u32 = 1168;
    match answer {
        Answer::Ok(value) => Ok(value),
        Answer::Err(failure) if failure.code == NOT_FOUND => {
            Err(Error::NotFoundError(failure.text))
        }
        Answer::Err(failure) => Err(refused(&failure.text)),
    }
}

fn unreachable(error: io::Error) -> Error {
    refused(&format!("netd cannot be reached: {error}"))
}

/// An error whose text reaches the pod's events as it is.
fn refused(text: &str) -> Error {
    let status = ttrpc::get_status(ttrpc::Code::UNKNOWN, text);
    Error::Ttrpc(ttrpc::Error::RpcStatus(status))
}
