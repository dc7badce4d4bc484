//! AF_UNIX sockets.
//!
//! Windows has them since 2018, Wine does not, and the kubelet listens on one
//! for device plugins. Here such a socket is a TCP socket on the loopback
//! address: binding takes a free port and writes it into the socket's file
//! ([`file`]), connecting reads it there, and names are given as paths.
//!
//! Go binds, connects and asks for names with the plain functions; it accepts
//! with AcceptEx, which works as it is, and reads the two addresses from its
//! buffer with GetAcceptExSockaddrs, which must show AF_UNIX names too, since
//! Go takes any other family for no address at all.

mod address;
mod file;

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::ffi::c_void;

use windows_sys::Win32::Networking::WinSock as ws;

use crate::answers::Answer;
use crate::locked::Locked;

/// What is known of a socket that the program takes for AF_UNIX.
#[derive(Default, Clone)]
struct Names {
    local: String,
    peer: String,
    /// The port that it listens on.
    port: u16,
}

static SOCKETS: Locked<BTreeMap<ws::SOCKET, Names>> = Locked::new(BTreeMap::new());

/// The functions that this module stands in for.
pub fn answers() -> [Answer; 7] {
    [
        (c"WSASocketW", socket as *const ()),
        (c"bind", bind as *const ()),
        (c"connect", connect as *const ()),
        (c"getsockname", local_name as *const ()),
        (c"getpeername", peer_name as *const ()),
        (c"closesocket", close as *const ()),
        (c"GetAcceptExSockaddrs", accepted_names as *const ()),
    ]
}

unsafe extern "system" fn socket(
    family: i32,
    kind: i32,
    protocol: i32,
    info: *const ws::WSAPROTOCOL_INFOW,
    group: u32,
    flags: u32,
) -> ws::SOCKET {
    if family != i32::from(ws::AF_UNIX) || kind != ws::SOCK_STREAM {
        // SAFETY: the caller's arguments.
        return unsafe { ws::WSASocketW(family, kind, protocol, info, group, flags) };
    }
    let inet = i32::from(ws::AF_INET);
    // SAFETY: a plain TCP socket.
    let socket = unsafe { ws::WSASocketW(inet, kind, ws::IPPROTO_TCP, info, group, flags) };
    if socket != ws::INVALID_SOCKET {
        SOCKETS.with(|sockets| sockets.insert(socket, Names::default()));
    }
    socket
}

unsafe extern "system" fn bind(socket: ws::SOCKET, name: *const ws::SOCKADDR, length: i32) -> i32 {
    // SAFETY: the caller's arguments.
    let Some(path) = (unsafe { address::path(name, length) }) else {
        // SAFETY: the caller's arguments.
        return unsafe { ws::bind(socket, name, length) };
    };
    let result = file::Reserved::new(&path).and_then(|file| {
        let port = listen_port(socket)?;
        file.publish(port)?;
        Ok(port)
    });
    match result {
        Ok(port) => {
            note(socket, |names| (names.local, names.port) = (path, port));
            0
        }
        Err(error) => failed(error),
    }
}

unsafe extern "system" fn connect(
    socket: ws::SOCKET,
    name: *const ws::SOCKADDR,
    length: i32,
) -> i32 {
    // SAFETY: the caller's arguments.
    let Some(path) = (unsafe { address::path(name, length) }) else {
        // SAFETY: the caller's arguments.
        return unsafe { ws::connect(socket, name, length) };
    };
    let Some(port) = file::port(&path) else {
        return failed(ws::WSAECONNREFUSED);
    };
    let (loopback, size) = address::loopback(port);
    note(socket, |names| names.peer = path);
    // SAFETY: an address of the given size.
    unsafe { ws::connect(socket, (&raw const loopback).cast(), size) }
}

unsafe extern "system" fn local_name(
    socket: ws::SOCKET,
    name: *mut ws::SOCKADDR,
    length: *mut i32,
) -> i32 {
    // SAFETY: the caller's arguments.
    unsafe {
        match names(socket) {
            Some(names) => address::write(&names.local, name, length),
            None => ws::getsockname(socket, name, length),
        }
    }
}

unsafe extern "system" fn peer_name(
    socket: ws::SOCKET,
    name: *mut ws::SOCKADDR,
    length: *mut i32,
) -> i32 {
    // SAFETY: the caller's arguments.
    unsafe {
        match names(socket) {
            Some(names) => address::write(&names.peer, name, length),
            None => ws::getpeername(socket, name, length),
        }
    }
}

unsafe extern "system" fn close(socket: ws::SOCKET) -> i32 {
    SOCKETS.with(|sockets| sockets.remove(&socket));
    // SAFETY: the caller's socket.
    unsafe { ws::closesocket(socket) }
}

/// Wine lays each address into its part of the buffer behind its length, so a
/// part of the caller's size has room for a path.
unsafe extern "system" fn accepted_names(
    buffer: *const c_void,
    data: u32,
    local_room: u32,
    remote_room: u32,
    local: *mut *mut ws::SOCKADDR,
    local_length: *mut i32,
    remote: *mut *mut ws::SOCKADDR,
    remote_length: *mut i32,
) {
    const LENGTH_FIELD: u32 = size_of::<i32>() as u32;
    // SAFETY: the caller's arguments; afterwards both names lie in the buffer.
    unsafe {
        ws::GetAcceptExSockaddrs(
            buffer,
            data,
            local_room,
            remote_room,
            local,
            local_length,
            remote,
            remote_length,
        );
        let Some(path) = address::port(*local).and_then(listener) else {
            return;
        };
        *local_length = local_room.saturating_sub(LENGTH_FIELD).cast_signed();
        *remote_length = remote_room.saturating_sub(LENGTH_FIELD).cast_signed();
        address::write(&path, *local, local_length);
        address::write("", *remote, remote_length);
    }
}

/// The path of this process's listener on a port.
fn listener(port: u16) -> Option<String> {
    SOCKETS.with(|sockets| {
        sockets
            .values()
            .find(|names| names.port == port)
            .map(|names| names.local.clone())
    })
}

/// Binds to a free port and says which.
fn listen_port(socket: ws::SOCKET) -> Result<u16, ws::WSA_ERROR> {
    let (mut name, mut size) = address::loopback(0);
    // SAFETY: an address of the given size.
    unsafe {
        if ws::bind(socket, (&raw const name).cast(), size) != 0
            || ws::getsockname(socket, (&raw mut name).cast(), &mut size) != 0
        {
            return Err(ws::WSAGetLastError());
        }
    }
    Ok(u16::from_be(name.sin_port))
}

fn names(socket: ws::SOCKET) -> Option<Names> {
    SOCKETS.with(|sockets| sockets.get(&socket).cloned())
}

fn note(socket: ws::SOCKET, change: impl FnOnce(&mut Names)) {
    SOCKETS.with(|sockets| change(sockets.entry(socket).or_default()));
}

fn failed(error: ws::WSA_ERROR) -> i32 {
    // SAFETY: sets a thread's value.
    unsafe { ws::WSASetLastError(error) };
    ws::SOCKET_ERROR
}
