//! Downloads of a simulated host: real ones, without TLS, from loopback addresses only.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_resource::{WebAccount, WebAddress, without_password};

use super::Sim;
use crate::platform::{Download, Downloads, OnData, Result};

/// How long a server may send nothing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

impl Downloads for Sim {
    fn download(&self, download: &Download<'_>, take: &mut OnData<'_>) -> Result<()> {
        let url = without_password(download.url.expose());
        let allowed = self.change(&format!("download {url}"), |_| Ok(()));
        allowed.map_err(|_| download.mirror_unreachable("network unreachable"))?;
        let address = download.address()?;
        let proxy = download.proxy_address()?;
        let stream = connect(proxy.as_ref().unwrap_or(&address));
        let stream = stream.map_err(|error| download.mirror_unreachable(&error))?;
        let request = request(download, &address, proxy.as_ref());
        let sent = (&stream).write_all(request.as_bytes());
        sent.map_err(|error| download.download_failed(&error.to_string()))?;
        let mut response = BufReader::new(stream);
        let head = head(&mut response);
        let (status, length) = head.map_err(|error| download.download_failed(&error))?;
        let mut at = match status {
            200 => 0,
            206 => download.from,
            416 => return Ok(()),
            other => return Err(download.download_failed(&format!("HTTP status {other}"))),
        };
        let mut remaining = length;
        let mut buffer = [0; 4096];
        while remaining > 0 {
            // A host that lost its network or was killed stops the download.
            self.check_session();
            let read = response.read(&mut buffer);
            let count = read.map_err(|error| download.download_failed(&error.to_string()))?;
            if count == 0 {
                return Err(download
                    .download_failed(&format!("the connection ended {remaining} bytes early")));
            }
            take(at, buffer.get(..count).unwrap_or_default())?;
            at += count as u64;
            remaining = remaining.saturating_sub(count as u64);
        }
        Ok(())
    }
}

fn connect(address: &WebAddress) -> std::result::Result<TcpStream, String> {
    let host: Option<IpAddr> = address.host.trim_matches(['[', ']']).parse().ok();
    let Some(host) = host.filter(IpAddr::is_loopback) else {
        return Err(format!("`{}` is not a loopback address", address.host));
    };
    if address.secure {
        return Err("simulated hosts do not support TLS".to_owned());
    }
    let stream = TcpStream::connect_timeout(&SocketAddr::new(host, address.port), IDLE_TIMEOUT);
    let stream = stream.map_err(|error| error.to_string())?;
    let limited = stream.set_read_timeout(Some(IDLE_TIMEOUT));
    limited.map(|()| stream).map_err(|error| error.to_string())
}

fn request(download: &Download<'_>, address: &WebAddress, proxy: Option<&WebAddress>) -> String {
    let authority = format!("{}:{}", address.host, address.port);
    let target = match proxy {
        Some(_) => format!("http://{authority}{}", address.path),
        None => address.path.clone(),
    };
    let mut text = format!("GET {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
    let mut login = |name: &str, account: &WebAccount| {
        let pair = format!("{}:{}", account.user, account.password.expose());
        text += &format!("{name}: Basic {}\r\n", STANDARD.encode(pair));
    };
    if let Some(account) = &address.account {
        login("Authorization", account);
    }
    if let Some(account) = proxy.and_then(|proxy| proxy.account.as_ref()) {
        login("Proxy-Authorization", account);
    }
    if download.from > 0 {
        text += &format!("Range: bytes={}-\r\n", download.from);
    }
    text + "\r\n"
}

/// The status and the content length of a response.
fn head(response: &mut BufReader<TcpStream>) -> std::result::Result<(u16, u64), String> {
    let (mut status, mut length) = (None, 0);
    for line in response.lines() {
        let line = line.map_err(|error| error.to_string())?;
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            None => status = line.split(' ').nth(1).and_then(|text| text.parse().ok()),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap_or(0);
            }
            Some(_) => {}
        }
    }
    let status = status.ok_or_else(|| "the response is not HTTP".to_owned())?;
    Ok((status, length))
}
