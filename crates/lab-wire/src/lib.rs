//! What programs inside a lab host say to the host's `netd`, and how.
//!
//! A Windows program cannot reach the kernel that carries it, so the DLLs and
//! the container shim of the lab hand their calls to `netd`, a Linux process in
//! the host's network namespace, over loopback TCP. One JSON object per line:
//! a [`Request`] in, an [`Answer`] out; a container's streams then follow on
//! the same connection. The port and a token stand in a file inside the prefix
//! (the [`Door`]), so that only programs of that host get in.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub mod adapter;
pub mod container;
pub mod hcn;

/// Where a Windows program finds the [`Door`].
pub const DOOR_FILE: &str = r"C:\windows\casement-lab.json";

/// The address and the password of one host's `netd`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Door {
    /// TCP port on the loopback address of the host's namespace.
    pub port: u16,
    /// Shared secret, made anew for each host.
    pub token: String,
}

/// The first line of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// See [`Door::token`].
    pub token: String,
    /// What is wanted.
    pub call: Call,
}

/// Everything that `netd` can be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// One function of `computenetwork.dll`.
    Hcn(hcn::HcnCall),
    /// `vmcompute.dll!HNSCall`.
    Hns(hcn::HnsCall),
    /// Routes, addresses and interface settings: what Wine's `iphlpapi` lacks.
    Adapter(adapter::AdapterCall),
    /// Processes in a pod's namespace, for the container shim.
    Container(container::ContainerCall),
}

/// The line that answers a [`Request`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// Done; the value depends on the call.
    Ok(Value),
    /// Refused.
    Err(Failure),
}

/// Why a call was refused, in Windows' terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// An HRESULT for HCN and HNS, a Win32 error code for adapters.
    pub code: u32,
    /// What Windows would say.
    pub text: String,
}

impl Door {
    /// Opens a connection, sends the request and reads the answer; the
    /// connection stays usable for calls that stream afterwards.
    pub fn open(&self, call: Call) -> io::Result<(Answer, BufReader<TcpStream>)> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        let request = Request {
            token: self.token.clone(),
            call,
        };
        write_line(&mut stream, &request)?;
        let mut reader = BufReader::new(stream);
        let answer = read_line(&mut reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok((answer, reader))
    }

    /// A call with nothing after the answer.
    pub fn call(&self, call: Call) -> io::Result<Answer> {
        self.open(call).map(|(answer, _)| answer)
    }
}

/// Writes one value as one line.
pub fn write_line<T: Serialize>(to: &mut impl Write, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads one line as one value; `None` at the end of the stream.
pub fn read_line<T: for<'de> Deserialize<'de>>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}
