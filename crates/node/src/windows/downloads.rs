//! Downloads through WinHTTP: Windows' own TLS, trust and proxies.
//!
//! The host's own account is never offered to a server, and an account that an
//! address holds goes to the host in that address and to no other: with one, a
//! redirect is not followed.
#![allow(unsafe_code, reason = "WinHTTP's functions")]

use std::ffi::c_void;
use std::{io, ptr};

use casement_resource::wire::PullProxy;
use casement_resource::{WebAccount, WebAddress};
use windows_sys::Win32::Networking::WinHttp::{
    ERROR_WINHTTP_CANNOT_CONNECT, ERROR_WINHTTP_CONNECTION_ERROR, ERROR_WINHTTP_NAME_NOT_RESOLVED,
    ERROR_WINHTTP_SECURE_CHANNEL_ERROR, ERROR_WINHTTP_SECURE_FAILURE, ERROR_WINHTTP_TIMEOUT,
    WINHTTP_ACCESS_TYPE_AUTOMATIC_PROXY, WINHTTP_ACCESS_TYPE_NAMED_PROXY,
    WINHTTP_ACCESS_TYPE_NO_PROXY, WINHTTP_ADDREQ_FLAG_ADD, WINHTTP_AUTH_SCHEME_BASIC,
    WINHTTP_AUTH_TARGET_PROXY, WINHTTP_AUTH_TARGET_SERVER, WINHTTP_AUTOLOGON_SECURITY_LEVEL_HIGH,
    WINHTTP_DISABLE_REDIRECTS, WINHTTP_FLAG_SECURE, WINHTTP_OPTION_AUTOLOGON_POLICY,
    WINHTTP_OPTION_DISABLE_FEATURE, WINHTTP_QUERY_FLAG_NUMBER, WINHTTP_QUERY_STATUS_CODE,
    WinHttpAddRequestHeaders, WinHttpCloseHandle, WinHttpConnect, WinHttpOpen, WinHttpOpenRequest,
    WinHttpQueryHeaders, WinHttpReadData, WinHttpReceiveResponse, WinHttpSendRequest,
    WinHttpSetCredentials, WinHttpSetOption, WinHttpSetTimeouts,
};
use windows_sys::core::{BOOL, PCWSTR, w};

use super::Windows;
use super::wide::wide;
use crate::platform::{Download, Downloads, Result, Take};

/// How long names, connections, and then each answer may take, in milliseconds.
const CONNECT: i32 = 15_000;
const SILENCE: i32 = 60_000;
/// What a server and a proxy say to one who has to say who he is.
const SERVER_ASKS: u32 = 401;
const PROXY_ASKS: u32 = 407;

impl Downloads for Windows {
    fn download(&self, download: &Download<'_>, take: &mut Take<'_>) -> Result<()> {
        let address = download.address()?;
        let proxy = download.proxy_address()?;
        let session = Handle::session(download, proxy.as_ref())?;
        let host = wide(&address.host);
        // SAFETY: a session that is open, and terminated text.
        let connection = unsafe { WinHttpConnect(session.0, host.as_ptr(), address.port, 0) };
        let connection = Handle::new(connection, download)?;
        let request = Request::open(&connection, download, &address)?;
        let proxy_account = proxy.and_then(|proxy| proxy.account);
        let mut accounts = [
            (SERVER_ASKS, WINHTTP_AUTH_TARGET_SERVER, address.account),
            (PROXY_ASKS, WINHTTP_AUTH_TARGET_PROXY, proxy_account),
        ];
        let status = loop {
            let status = request.ask()?;
            let asked = accounts.iter_mut().find(|(asks, ..)| *asks == status);
            // Each account is tried once.
            match asked.and_then(|(_, target, account)| Some((*target, account.take()?))) {
                Some((target, account)) => request.log_in(target, &account)?,
                None => break status,
            }
        };
        match status {
            200 => request.read(0, take),
            206 => request.read(download.from, take),
            416 => Ok(()),
            other => Err(download.not_fetched(&format!("it answers {other}"))),
        }
    }
}

/// Something of WinHTTP's, closed with this.
struct Handle(*mut c_void);

impl Handle {
    fn new(handle: *mut c_void, download: &Download<'_>) -> Result<Self> {
        match handle.is_null() {
            true => Err(download.no_mirror(&refusal())),
            false => Ok(Self(handle)),
        }
    }

    fn session(download: &Download<'_>, proxy: Option<&WebAddress>) -> Result<Self> {
        let named = proxy.map(|proxy| wide(format!("{}:{}", proxy.host, proxy.port)));
        let access = match download.proxy {
            PullProxy::HostsOwn => WINHTTP_ACCESS_TYPE_AUTOMATIC_PROXY,
            PullProxy::Direct => WINHTTP_ACCESS_TYPE_NO_PROXY,
            PullProxy::At(_) => WINHTTP_ACCESS_TYPE_NAMED_PROXY,
        };
        let name = named.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        // SAFETY: terminated text, or none where none is wanted.
        let session = unsafe { WinHttpOpen(w!("casement"), access, name, ptr::null(), 0) };
        let session = Self::new(session, download)?;
        // SAFETY: a session that is open.
        let set = unsafe { WinHttpSetTimeouts(session.0, CONNECT, CONNECT, SILENCE, SILENCE) };
        done(set).map_err(|said| download.no_mirror(&said))?;
        Ok(session)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: opened by WinHTTP, and closed once.
        unsafe { WinHttpCloseHandle(self.0) };
    }
}

/// One question to a server, which may be asked again.
struct Request<'a> {
    handle: Handle,
    download: &'a Download<'a>,
}

impl<'a> Request<'a> {
    fn open(connection: &Handle, download: &'a Download<'a>, address: &WebAddress) -> Result<Self> {
        let path = wide(&address.path);
        let flags = if address.secure {
            WINHTTP_FLAG_SECURE
        } else {
            0
        };
        let none: PCWSTR = ptr::null();
        // SAFETY: a connection that is open, terminated text, and no list of types.
        let handle = unsafe {
            let types = ptr::null();
            WinHttpOpenRequest(
                connection.0,
                w!("GET"),
                path.as_ptr(),
                none,
                none,
                types,
                flags,
            )
        };
        let request = Self {
            handle: Handle::new(handle, download)?,
            download,
        };
        let never = WINHTTP_AUTOLOGON_SECURITY_LEVEL_HIGH;
        request.set(WINHTTP_OPTION_AUTOLOGON_POLICY, never)?;
        if address.account.is_some() {
            request.set(WINHTTP_OPTION_DISABLE_FEATURE, WINHTTP_DISABLE_REDIRECTS)?;
        }
        if download.from > 0 {
            request.add_header(&format!("Range: bytes={}-", download.from))?;
        }
        Ok(request)
    }

    fn set(&self, option: u32, value: u32) -> Result<()> {
        // SAFETY: a request that is open, and a number that it copies.
        let set = unsafe {
            let value = ptr::from_ref(&value).cast();
            WinHttpSetOption(self.handle.0, option, value, size_of::<u32>() as u32)
        };
        done(set).map_err(|said| self.download.no_mirror(&said))
    }

    fn add_header(&self, line: &str) -> Result<()> {
        let line = wide(line);
        // SAFETY: a request that is open, and terminated text, which is what a length
        // of all ones means.
        let added = unsafe {
            let flag = WINHTTP_ADDREQ_FLAG_ADD;
            WinHttpAddRequestHeaders(self.handle.0, line.as_ptr(), u32::MAX, flag)
        };
        done(added).map_err(|said| self.download.no_mirror(&said))
    }

    fn log_in(&self, target: u32, account: &WebAccount) -> Result<()> {
        let (user, password) = (wide(&account.user), wide(account.password.expose()));
        // SAFETY: a request that is open, and terminated text, which it copies.
        let set = unsafe {
            WinHttpSetCredentials(
                self.handle.0,
                target,
                WINHTTP_AUTH_SCHEME_BASIC,
                user.as_ptr(),
                password.as_ptr(),
                ptr::null_mut(),
            )
        };
        done(set).map_err(|said| self.download.no_mirror(&said))
    }

    /// Asks; gives the status of the answer.
    fn ask(&self) -> Result<u32> {
        let handle = self.handle.0;
        let (mut status, mut size) = (0_u32, size_of::<u32>() as u32);
        // SAFETY: a request that is open, without headers or a body of its own; and a
        // number with its size, for the status.
        let asked = unsafe {
            done(WinHttpSendRequest(
                handle,
                ptr::null(),
                0,
                ptr::null(),
                0,
                0,
                0,
            ))
            .and_then(|()| done(WinHttpReceiveResponse(handle, ptr::null_mut())))
            .and_then(|()| {
                done(WinHttpQueryHeaders(
                    handle,
                    WINHTTP_QUERY_STATUS_CODE | WINHTTP_QUERY_FLAG_NUMBER,
                    ptr::null(),
                    ptr::from_mut(&mut status).cast(),
                    &mut size,
                    ptr::null_mut(),
                ))
            })
        };
        asked.map_err(|said| self.download.no_mirror(&said))?;
        Ok(status)
    }

    /// Reads the answer, whose first byte is this one of the file.
    fn read(&self, mut at: u64, take: &mut Take<'_>) -> Result<()> {
        let mut buffer = vec![0_u8; 64 * 1024];
        loop {
            let mut count = 0_u32;
            let room = buffer.len() as u32;
            // SAFETY: a request that is open, and a buffer with its size.
            let read = unsafe {
                WinHttpReadData(self.handle.0, buffer.as_mut_ptr().cast(), room, &mut count)
            };
            done(read).map_err(|said| self.download.not_fetched(&said))?;
            if count == 0 {
                return Ok(());
            }
            take(at, buffer.get(..count as usize).unwrap_or_default())?;
            at += u64::from(count);
        }
    }
}

fn done(answer: BOOL) -> std::result::Result<(), String> {
    match answer {
        0 => Err(refusal()),
        _ => Ok(()),
    }
}

/// Why the calling thread's last call was refused. Windows has words for the codes of
/// WinHTTP only in WinHTTP's own library, so the ones that happen are told here.
fn refusal() -> String {
    let error = io::Error::last_os_error();
    let code = error.raw_os_error().unwrap_or_default().cast_unsigned();
    let words = match code {
        ERROR_WINHTTP_NAME_NOT_RESOLVED => "its name cannot be looked up",
        ERROR_WINHTTP_CANNOT_CONNECT => "it cannot be connected to",
        ERROR_WINHTTP_CONNECTION_ERROR => "it broke off",
        ERROR_WINHTTP_TIMEOUT => "it did not answer in time",
        ERROR_WINHTTP_SECURE_FAILURE => "its certificate is not one that this host trusts",
        ERROR_WINHTTP_SECURE_CHANNEL_ERROR => "it speaks no TLS that this host does",
        _ => return format!("{error}"),
    };
    format!("{words} (error {code})")
}
