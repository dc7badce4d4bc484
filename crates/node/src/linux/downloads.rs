//! Downloads with `curl`, which most distributions include, so that the agent needs no
//! HTTP, TLS and proxy code.

use std::io::{self, ErrorKind, Read, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use casement_resource::Failure;
use casement_resource::wire::PullProxy;

use super::Linux;
use crate::platform::{Download, Downloads, OnData, Result};

/// curl's exit code if the transfer is incomplete.
const PARTIAL_FILE: i32 = 18;
/// If the server returns an error.
const HTTP_ERROR: i32 = 22;
/// If the server does not support ranges.
const RANGE_ERROR: i32 = 33;

impl Downloads for Linux {
    fn download(&self, download: &Download<'_>, on_data: &mut OnData<'_>) -> Result<()> {
        // Validated: neither can end a line of the curl configuration.
        download.address()?;
        download.proxy_address()?;
        match fetch(download, download.from, on_data)? {
            Outcome::Complete => Ok(()),
            Outcome::RangeUnsupported => fetch(download, 0, on_data).map(drop),
        }
    }
}

enum Outcome {
    Complete,
    RangeUnsupported,
}

fn fetch(download: &Download<'_>, from: u64, on_data: &mut OnData<'_>) -> Result<Outcome> {
    let mut curl = Curl::start(download, from).map_err(|error| curl_error(download, &error))?;
    let mut at = from;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = curl.output.read(&mut buffer);
        let count = read.map_err(|error| curl_error(download, &error))?;
        if count == 0 {
            break;
        }
        on_data(at, buffer.get(..count).unwrap_or_default())?;
        at += count as u64;
    }
    let (code, message) = curl
        .finish()
        .map_err(|error| curl_error(download, &error))?;
    match code {
        Some(0) => Ok(Outcome::Complete),
        Some(RANGE_ERROR) if from > 0 => Ok(Outcome::RangeUnsupported),
        // 416: the file is already complete.
        Some(HTTP_ERROR) if from > 0 && message.ends_with(" 416") => Ok(Outcome::Complete),
        Some(HTTP_ERROR | PARTIAL_FILE) => Err(download.download_failed(&message)),
        _ if at > from => Err(download.download_failed(&message)),
        _ => Err(download.mirror_unreachable(&message)),
    }
}

/// Killed when dropped.
struct Curl {
    child: Child,
    output: ChildStdout,
}

impl Curl {
    fn start(download: &Download<'_>, from: u64) -> io::Result<Self> {
        let mut child = Command::new("curl")
            // Ignores the user's ~/.curlrc.
            .args(["--disable", "--config", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let curl = Self {
            child,
            output: output.ok_or(ErrorKind::BrokenPipe)?,
        };
        // Other users can see arguments, but not standard input.
        let mut input = input.ok_or(ErrorKind::BrokenPipe)?;
        input.write_all(curl_config(download, from).as_bytes())?;
        Ok(curl)
    }

    /// The exit code and the first line of the error output.
    fn finish(mut self) -> io::Result<(Option<i32>, String)> {
        let mut message = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut message)?;
        }
        let status = self.child.wait()?;
        // Certificate errors have more lines, which do not help.
        let message = message.lines().next().unwrap_or_default();
        let message = message.trim_start_matches("curl: ").to_owned();
        Ok((status.code(), message))
    }
}

impl Drop for Curl {
    fn drop(&mut self) {
        // Fails if it has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The options as a curl configuration file.
fn curl_config(download: &Download<'_>, from: u64) -> String {
    let mut text = "silent\nshow-error\nfail\nlocation\ngloboff\nproto = \"=http,https\"\n\
                    proto-redir = \"=http,https\"\nuser-agent = \"casement\"\n\
                    connect-timeout = 15\nspeed-limit = 1\nspeed-time = 60\n"
        .to_owned();
    let mut set = |name: &str, value: &str| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        text += &format!("{name} = \"{value}\"\n");
    };
    set("url", download.url.expose());
    match download.proxy {
        PullProxy::HostDefault => {}
        PullProxy::Direct => set("noproxy", "*"),
        PullProxy::At(proxy) => {
            set("proxy", proxy.expose());
            // Overrides the host's proxy exceptions.
            set("noproxy", "");
        }
    }
    if from > 0 {
        set("continue-at", &from.to_string());
    }
    text
}

fn curl_error(download: &Download<'_>, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => download.mirror_unreachable("`curl` is not installed on the host"),
        _ => download.mirror_unreachable(&format!("failed to run curl: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use casement_resource::Secret;

    use super::*;

    #[test]
    fn quotes_in_urls_are_escaped() {
        let url = Secret::new(r#"http://a:b"\@mirror/x"#.to_owned());
        let proxy = PullProxy::At(Secret::new("http://proxy:3128".to_owned()));
        let config = curl_config(
            &Download {
                url: &url,
                proxy: &proxy,
                from: 7,
            },
            7,
        );
        for line in [
            r#"url = "http://a:b\"\\@mirror/x""#,
            r#"proxy = "http://proxy:3128""#,
            r#"noproxy = """#,
            r#"continue-at = "7""#,
        ] {
            assert!(config.lines().any(|it| it == line), "{line} in {config}");
        }
    }
}
