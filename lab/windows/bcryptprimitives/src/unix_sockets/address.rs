//! Conversion between AF_UNIX addresses and loopback ports.

use alloc::string::String;

use windows_sys::Win32::Networking::WinSock as ws;

/// `sizeof(sun_path)`.
const MAX_PATH: usize = 108;
/// `offsetof(sockaddr_un, sun_path)`.
const PATH_OFFSET: usize = 2;

/// The path in an AF_UNIX address; `None` for other families.
///
/// # Safety
///
/// `name` must be valid for reads of `length` bytes.
pub unsafe fn path(name: *const ws::SOCKADDR, length: i32) -> Option<String> {
    let length = usize::try_from(length).ok()?;
    // SAFETY: the caller guarantees the bytes.
    let bytes = unsafe { core::slice::from_raw_parts(name.cast::<u8>(), length) };
    let (family, path) = bytes.split_first_chunk::<PATH_OFFSET>()?;
    if u16::from_le_bytes(*family) != ws::AF_UNIX {
        return None;
    }
    let path = path.split(|&byte| byte == 0).next()?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// The port of an address on the loopback interface.
///
/// # Safety
///
/// `name` must be null or point to a valid address.
pub unsafe fn port(name: *const ws::SOCKADDR) -> Option<u16> {
    // SAFETY: the caller guarantees the address.
    unsafe {
        let name = name.cast::<ws::SOCKADDR_IN>().as_ref()?;
        (name.sin_family == ws::AF_INET).then(|| u16::from_be(name.sin_port))
    }
}

/// 127.0.0.1 with a port, and the size of the structure.
pub fn loopback(port: u16) -> (ws::SOCKADDR_IN, i32) {
    let octets = ws::IN_ADDR_0_0 {
        s_b1: 127,
        s_b2: 0,
        s_b3: 0,
        s_b4: 1,
    };
    let address = ws::SOCKADDR_IN {
        sin_family: ws::AF_INET,
        sin_port: port.to_be(),
        sin_addr: ws::IN_ADDR {
            S_un: ws::IN_ADDR_0 { S_un_b: octets },
        },
        sin_zero: [0; 8],
    };
    (address, size_of::<ws::SOCKADDR_IN>() as i32)
}

/// Writes an AF_UNIX address; returns the same codes as `getsockname`.
///
/// # Safety
///
/// `name` must be valid for writes of `*length` bytes.
pub unsafe fn write(path: &str, name: *mut ws::SOCKADDR, length: *mut i32) -> i32 {
    let path = &path.as_bytes()[..path.len().min(MAX_PATH - 1)];
    // SAFETY: nothing is written beyond `*length`.
    unsafe {
        let available = usize::try_from(*length).unwrap_or(0);
        let needed = PATH_OFFSET + path.len() + 1;
        if available < needed {
            ws::WSASetLastError(ws::WSAEFAULT);
            return ws::SOCKET_ERROR;
        }
        let bytes = core::slice::from_raw_parts_mut(name.cast::<u8>(), available);
        bytes.fill(0);
        bytes[..PATH_OFFSET].copy_from_slice(&ws::AF_UNIX.to_le_bytes());
        bytes[PATH_OFFSET..needed - 1].copy_from_slice(path);
        *length = needed as i32;
    }
    0
}
