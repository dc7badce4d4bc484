//! Downloads of a simulated host: real ones, from addresses of this machine and
//! nowhere else, and without TLS.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_resource::{WebAccount, WebAddress, without_password};

use super::Sim;
use crate::platform::{Download, Downloads, Result, Take};

/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(10);

impl Downloads for Sim {
    fn download(&self, download: &Download<'_>, take: &mut Take<'_>) -> Result<()> {
        let shown = without_password(download.url.expose());
        let allowed = self.change(&format!("download {shown}"), |_| Ok(()));
        allowed.map_err(|_| download.no_mirror("there is no way there"))?;
        let address = download.address()?;
        let proxy = download.proxy_address()?;
        let stream = connect(proxy.as_ref().unwrap_or(&address));
        let stream = stream.map_err(|said| download.no_mirror(&said))?;
        let request = request(download, &address, proxy.as_ref());
        let sent = (&stream).write_all(request.as_bytes());
        sent.map_err(|error| download.not_fetched(&error.to_string()))?;
        let mut answer = BufReader::new(stream);
        let head = head(&mut answer);
        let (status, length) = head.map_err(|said| download.not_fetched(&said))?;
        let mut at = match status {
            200 => 0,
            206 => download.from,
            416 => return Ok(()),
            other => return Err(download.not_fetched(&format!("it answers {other}"))),
        };
        let mut left = length;
        let mut buffer = [0; 4096];
        while left > 0 {
            // A host that lost its network, or was killed, fetches nothing.
            self.outlive();
            let read = answer.read(&mut buffer);
            let count = read.map_err(|error| download.not_fetched(&error.to_string()))?;
            if count == 0 {
                return Err(download.not_fetched(&format!("it ended {left} bytes early")));
            }
            take(at, buffer.get(..count).unwrap_or_default())?;
            at += count as u64;
            left = left.saturating_sub(count as u64);
        }
        Ok(())
    }
}

fn connect(address: &WebAddress) -> std::result::Result<TcpStream, String> {
    let host: Option<IpAddr> = address.host.trim_matches(['[', ']']).parse().ok();
    let Some(host) = host.filter(IpAddr::is_loopback) else {
        return Err(format!("`{}` is not on this machine", address.host));
    };
    if address.secure {
        return Err("a simulated host speaks no TLS".to_owned());
    }
    let stream = TcpStream::connect_timeout(&SocketAddr::new(host, address.port), SILENCE);
    let stream = stream.map_err(|error| error.to_string())?;
    let limited = stream.set_read_timeout(Some(SILENCE));
    limited.map(|()| stream).map_err(|error| error.to_string())
}

fn request(download: &Download<'_>, address: &WebAddress, proxy: Option<&WebAddress>) -> String {
    let place = format!("{}:{}", address.host, address.port);
    let target = match proxy {
        Some(_) => format!("http://{place}{}", address.path),
        None => address.path.clone(),
    };
    let mut text = format!("GET {target} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n");
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

/// The status of an answer, and how many bytes follow.
fn head(answer: &mut BufReader<TcpStream>) -> std::result::Result<(u16, u64), String> {
    let (mut status, mut length) = (None, 0);
    for line in answer.lines() {
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
    let status = status.ok_or_else(|| "it does not speak HTTP".to_owned())?;
    Ok((status, length))
}
