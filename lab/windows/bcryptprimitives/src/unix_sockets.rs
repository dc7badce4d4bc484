//! AF_UNIX sockets.
//!
//! Windows supports them since 2018, Wine does not, and the kubelet listens on
//! one for device plugins. This module emulates such a socket with a TCP socket
//! on the loopback address: bind takes a free port and writes it to the socket
//! file ([`file`]), connect reads it from there, and names are paths.
//!
//! Go calls bind, connect, getsockname and getpeername. It accepts with AcceptEx,
//! which works unchanged, and reads both addresses from its buffer with
//! GetAcceptExSockaddrs, which must return AF_UNIX names too, because Go treats
//! any other family as a missing address.

mod address;
mod file;

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::ffi::c_void;

use windows_sys::Win32::Networking::WinSock as ws;

use crate::hooks::Hook;
use crate::locked::Locked;

/// The names of an emulated AF_UNIX socket.
#[derive(Default, Clone)]
struct Names {
    local: String,
    peer: String,
    /// The TCP port of a listener.
    port: u16,
}

static SOCKETS: Locked<BTreeMap<ws::SOCKET, Names>> = Locked::new(BTreeMap::new());

pub fn hooks() -> [Hook; 7] {
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
        let port = bind_free_port(socket)?;
        file.publish(port)?;
        Ok(port)
    });
    match result {
        Ok(port) => {
            update(socket, |names| (names.local, names.port) = (path, port));
            0
        }
        Err(error) => fail(error),
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
        return fail(ws::WSAECONNREFUSED);
    };
    let (loopback, size) = address::loopback(port);
    update(socket, |names| names.peer = path);
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

/// Wine writes each address into its part of the buffer, after its length. The
/// caller sized these parts for AF_UNIX addresses, so a path fits.
unsafe extern "system" fn accepted_names(
    buffer: *const c_void,
    data: u32,
    local_size: u32,
    remote_size: u32,
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
            local_size,
            remote_size,
            local,
            local_length,
            remote,
            remote_length,
        );
        let Some(path) = address::port(*local).and_then(listener) else {
            return;
        };
        *local_length = local_size.saturating_sub(LENGTH_FIELD).cast_signed();
        *remote_length = remote_size.saturating_sub(LENGTH_FIELD).cast_signed();
        address::write(&path, *local, local_length);
        address::write("", *remote, remote_length);
    }
}

/// The path of the listener of this process on a port.
fn listener(port: u16) -> Option<String> {
    SOCKETS.with(|sockets| {
        sockets
            .values()
            .find(|names| names.port == port)
            .map(|names| names.local.clone())
    })
}

/// Binds to a free port and returns it.
fn bind_free_port(socket: ws::SOCKET) -> Result<u16, ws::WSA_ERROR> {
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

fn update(socket: ws::SOCKET, change: impl FnOnce(&mut Names)) {
    SOCKETS.with(|sockets| change(sockets.entry(socket).or_default()));
}

fn fail(error: ws::WSA_ERROR) -> i32 {
    // SAFETY: sets a thread-local value.
    unsafe { ws::WSASetLastError(error) };
    ws::SOCKET_ERROR
}
