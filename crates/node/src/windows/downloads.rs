//! Downloads through WinHTTP, with the TLS, certificate store and proxy settings of
//! Windows.
//!
//! The account of the host is never offered to a server. Credentials in an address
//! are sent to that host only: with credentials, redirects are not followed.
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
use crate::platform::{Download, Downloads, OnData, Result};

/// In milliseconds: name resolution and connect, then each response.
const CONNECT_TIMEOUT: i32 = 15_000;
const IDLE_TIMEOUT: i32 = 60_000;
/// HTTP status codes.
const UNAUTHORIZED: u32 = 401;
const PROXY_AUTHENTICATION_REQUIRED: u32 = 407;

impl Downloads for Windows {
    fn download(&self, download: &Download<'_>, on_data: &mut OnData<'_>) -> Result<()> {
        let address = download.address()?;
        let proxy = download.proxy_address()?;
        let session = Handle::session(download, proxy.as_ref())?;
        let host = wide(&address.host);
        // SAFETY: an open session and NUL-terminated text.
        let connection = unsafe { WinHttpConnect(session.0, host.as_ptr(), address.port, 0) };
        let connection = Handle::new(connection, download)?;
        let request = Request::open(&connection, download, &address)?;
        let proxy_account = proxy.and_then(|proxy| proxy.account);
        let mut accounts = [
            (UNAUTHORIZED, WINHTTP_AUTH_TARGET_SERVER, address.account),
            (
                PROXY_AUTHENTICATION_REQUIRED,
                WINHTTP_AUTH_TARGET_PROXY,
                proxy_account,
            ),
        ];
        let status = loop {
            let status = request.send()?;
            let requested = accounts.iter_mut().find(|(code, ..)| *code == status);
            // Each pair of credentials is tried once.
            match requested.and_then(|(_, target, account)| Some((*target, account.take()?))) {
                Some((target, account)) => request.set_credentials(target, &account)?,
                None => break status,
            }
        };
        match status {
            200 => request.read(0, on_data),
            206 => request.read(download.from, on_data),
            416 => Ok(()),
            other => Err(download.download_failed(&format!("HTTP status {other}"))),
        }
    }
}

/// A WinHTTP handle.
struct Handle(*mut c_void);

impl Handle {
    fn new(handle: *mut c_void, download: &Download<'_>) -> Result<Self> {
        match handle.is_null() {
            true => Err(download.mirror_unreachable(&last_error())),
            false => Ok(Self(handle)),
        }
    }

    fn session(download: &Download<'_>, proxy: Option<&WebAddress>) -> Result<Self> {
        let named = proxy.map(|proxy| wide(format!("{}:{}", proxy.host, proxy.port)));
        let access = match download.proxy {
            PullProxy::HostDefault => WINHTTP_ACCESS_TYPE_AUTOMATIC_PROXY,
            PullProxy::Direct => WINHTTP_ACCESS_TYPE_NO_PROXY,
            PullProxy::At(_) => WINHTTP_ACCESS_TYPE_NAMED_PROXY,
        };
        let name = named.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        // SAFETY: NUL-terminated text, or null.
        let session = unsafe { WinHttpOpen(w!("casement"), access, name, ptr::null(), 0) };
        let session = Self::new(session, download)?;
        // SAFETY: an open session.
        let result = unsafe {
            WinHttpSetTimeouts(
                session.0,
                CONNECT_TIMEOUT,
                CONNECT_TIMEOUT,
                IDLE_TIMEOUT,
                IDLE_TIMEOUT,
            )
        };
        check(result).map_err(|reason| download.mirror_unreachable(&reason))?;
        Ok(session)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: opened by WinHTTP, closed once.
        unsafe { WinHttpCloseHandle(self.0) };
    }
}

/// A request that can be sent several times.
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
        // SAFETY: an open connection, NUL-terminated text, and no list of types.
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
        request.set_option(WINHTTP_OPTION_AUTOLOGON_POLICY, never)?;
        if address.account.is_some() {
            request.set_option(WINHTTP_OPTION_DISABLE_FEATURE, WINHTTP_DISABLE_REDIRECTS)?;
        }
        if download.from > 0 {
            request.add_header(&format!("Range: bytes={}-", download.from))?;
        }
        Ok(request)
    }

    fn set_option(&self, option: u32, value: u32) -> Result<()> {
        // SAFETY: an open request, and a number that is copied.
        let result = unsafe {
            let value = ptr::from_ref(&value).cast();
            WinHttpSetOption(self.handle.0, option, value, size_of::<u32>() as u32)
        };
        check(result).map_err(|reason| self.download.mirror_unreachable(&reason))
    }

    fn add_header(&self, line: &str) -> Result<()> {
        let line = wide(line);
        // SAFETY: an open request, and NUL-terminated text, as the length
        // of all ones indicates.
        let added = unsafe {
            let flag = WINHTTP_ADDREQ_FLAG_ADD;
            WinHttpAddRequestHeaders(self.handle.0, line.as_ptr(), u32::MAX, flag)
        };
        check(added).map_err(|reason| self.download.mirror_unreachable(&reason))
    }

    fn set_credentials(&self, target: u32, account: &WebAccount) -> Result<()> {
        let (user, password) = (wide(&account.user), wide(account.password.expose()));
        // SAFETY: an open request, and NUL-terminated text that is copied.
        let result = unsafe {
            WinHttpSetCredentials(
                self.handle.0,
                target,
                WINHTTP_AUTH_SCHEME_BASIC,
                user.as_ptr(),
                password.as_ptr(),
                ptr::null_mut(),
            )
        };
        check(result).map_err(|reason| self.download.mirror_unreachable(&reason))
    }

    /// Returns the HTTP status.
    fn send(&self) -> Result<u32> {
        let handle = self.handle.0;
        let (mut status, mut size) = (0_u32, size_of::<u32>() as u32);
        // SAFETY: an open request, without headers or a body of its own; and a
        // number with its size, for the status.
        let sent = unsafe {
            check(WinHttpSendRequest(
                handle,
                ptr::null(),
                0,
                ptr::null(),
                0,
                0,
                0,
            ))
            .and_then(|()| check(WinHttpReceiveResponse(handle, ptr::null_mut())))
            .and_then(|()| {
                check(WinHttpQueryHeaders(
                    handle,
                    WINHTTP_QUERY_STATUS_CODE | WINHTTP_QUERY_FLAG_NUMBER,
                    ptr::null(),
                    ptr::from_mut(&mut status).cast(),
                    &mut size,
                    ptr::null_mut(),
                ))
            })
        };
        sent.map_err(|reason| self.download.mirror_unreachable(&reason))?;
        Ok(status)
    }

    /// `at` is the offset of the first byte of the response.
    fn read(&self, mut at: u64, on_data: &mut OnData<'_>) -> Result<()> {
        let mut buffer = vec![0_u8; 64 * 1024];
        loop {
            let mut count = 0_u32;
            let room = buffer.len() as u32;
            // SAFETY: an open request, and a buffer with its size.
            let read = unsafe {
                WinHttpReadData(self.handle.0, buffer.as_mut_ptr().cast(), room, &mut count)
            };
            check(read).map_err(|reason| self.download.download_failed(&reason))?;
            if count == 0 {
                return Ok(());
            }
            on_data(at, buffer.get(..count as usize).unwrap_or_default())?;
            at += u64::from(count);
        }
    }
}

fn check(result: BOOL) -> std::result::Result<(), String> {
    match result {
        0 => Err(last_error()),
        _ => Ok(()),
    }
}

/// The last error of this thread. Windows has messages for WinHTTP codes only in the
/// WinHTTP library, so the common ones are here.
fn last_error() -> String {
    let error = io::Error::last_os_error();
    let code = error.raw_os_error().unwrap_or_default().cast_unsigned();
    let message = match code {
        ERROR_WINHTTP_NAME_NOT_RESOLVED => "cannot resolve the host name",
        ERROR_WINHTTP_CANNOT_CONNECT => "cannot connect",
        ERROR_WINHTTP_CONNECTION_ERROR => "the connection was interrupted",
        ERROR_WINHTTP_TIMEOUT => "timed out",
        ERROR_WINHTTP_SECURE_FAILURE => "the server certificate is not trusted by this host",
        ERROR_WINHTTP_SECURE_CHANNEL_ERROR => "TLS handshake failed",
        _ => return format!("{error}"),
    };
    format!("{message} (error {code})")
}
