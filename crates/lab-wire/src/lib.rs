//! The protocol between programs inside a lab host and the host's `netd`.
//!
//! Programs under Wine cannot use the Linux kernel directly, so the lab's DLLs and the
//! container shim send their calls to `netd`, a Linux process in the host's network
//! namespace, over loopback TCP. Each line is a JSON object: the client sends a
//! [`Request`] and receives a [`Response`]; the streams of a container process follow on
//! the same connection. The port and a token are in a file inside the prefix
//! ([`NetdAccess`]), so that only programs of that host have access.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub mod adapter;
pub mod container;
pub mod hcn;

/// The file with the [`NetdAccess`], as JSON.
pub const NETD_ACCESS_FILE: &str = r"C:\windows\casement-lab.json";

/// Port and token of one host's `netd`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NetdAccess {
    /// TCP port on the loopback address of the host's network namespace.
    pub port: u16,
    /// Shared secret, created at each boot of the host.
    pub token: String,
}

/// The first line of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// See [`NetdAccess::token`].
    pub token: String,
    pub call: Call,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// One function of `computenetwork.dll`.
    Hcn(hcn::HcnCall),
    /// `vmcompute.dll!HNSCall`.
    Hns(hcn::HnsCall),
    /// Routes, addresses and interface settings, which Wine's `iphlpapi` lacks.
    Adapter(adapter::AdapterCall),
    /// Processes in a pod's namespace, for the container shim.
    Container(container::ContainerCall),
}

/// The line that follows a [`Request`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Response {
    /// The value depends on the call.
    Ok(Value),
    Err(Failure),
}

/// A failed call, as Windows reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// An HRESULT for HCN and HNS, a Win32 error code for adapters.
    pub code: u32,
    /// The message of Windows.
    pub text: String,
}

impl NetdAccess {
    /// Opens a connection, sends the request and reads the response. The connection
    /// stays open for calls that stream afterwards.
    pub fn open(&self, call: Call) -> io::Result<(Response, BufReader<TcpStream>)> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        let request = Request {
            token: self.token.clone(),
            call,
        };
        write_line(&mut stream, &request)?;
        let mut reader = BufReader::new(stream);
        let response = read_line(&mut reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok((response, reader))
    }

    /// A call without a stream.
    pub fn call(&self, call: Call) -> io::Result<Response> {
        self.open(call).map(|(response, _)| response)
    }
}

/// Writes a value as one line of JSON.
pub fn write_line<T: Serialize>(to: &mut impl Write, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads one line of JSON; `None` at the end of the stream.
pub fn read_line<T: for<'de> Deserialize<'de>>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}
