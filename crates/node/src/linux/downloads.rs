//! Downloads through `curl`, which most distributions bring: what it takes to speak
//! HTTP, TLS and to proxies stays out of the agent.

use std::io::{self, ErrorKind, Read, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use casement_resource::Failure;
use casement_resource::wire::PullProxy;

use super::Linux;
use crate::platform::{Download, Downloads, Result, Take};

/// What curl ends with when less came than the server said.
const CUT_SHORT: i32 = 18;
/// When the server answers with an error.
const REFUSED: i32 = 22;
/// When the server knows nothing of parts.
const NO_PARTS: i32 = 33;

impl Downloads for Linux {
    fn download(&self, download: &Download<'_>, take: &mut Take<'_>) -> Result<()> {
        // Nothing in them could end a line of what curl is told.
        download.address()?;
        download.proxy_address()?;
        match fetch(download, download.from, take)? {
            Ended::Well => Ok(()),
            Ended::WithoutParts => fetch(download, 0, take).map(drop),
        }
    }
}

enum Ended {
    Well,
    WithoutParts,
}

fn fetch(download: &Download<'_>, from: u64, take: &mut Take<'_>) -> Result<Ended> {
    let mut curl = Curl::start(download, from).map_err(|error| unusable(download, &error))?;
    let mut at = from;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = curl.output.read(&mut buffer);
        let count = read.map_err(|error| unusable(download, &error))?;
        if count == 0 {
            break;
        }
        take(at, buffer.get(..count).unwrap_or_default())?;
        at += count as u64;
    }
    let (code, said) = curl.end().map_err(|error| unusable(download, &error))?;
    match code {
        Some(0) => Ok(Ended::Well),
        Some(NO_PARTS) if from > 0 => Ok(Ended::WithoutParts),
        // There is nothing behind what is here.
        Some(REFUSED) if from > 0 && said.ends_with(" 416") => Ok(Ended::Well),
        Some(REFUSED | CUT_SHORT) => Err(download.not_fetched(&said)),
        _ if at > from => Err(download.not_fetched(&said)),
        _ => Err(download.no_mirror(&said)),
    }
}

/// A curl that runs; it ends with this, whatever becomes of the download.
struct Curl {
    child: Child,
    output: ChildStdout,
}

impl Curl {
    fn start(download: &Download<'_>, from: u64) -> io::Result<Self> {
        let mut child = Command::new("curl")
            // A person's own settings are not the host's.
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
        // Arguments are everybody's to read; what goes in here is nobody's.
        let mut input = input.ok_or(ErrorKind::BrokenPipe)?;
        input.write_all(settings(download, from).as_bytes())?;
        Ok(curl)
    }

    /// Its exit code, and its last words.
    fn end(mut self) -> io::Result<(Option<i32>, String)> {
        let mut said = String::new();
        if let Some(mut words) = self.child.stderr.take() {
            words.read_to_string(&mut said)?;
        }
        let status = self.child.wait()?;
        // Of a certificate it says more, and nothing that helps.
        let said = said.lines().next().unwrap_or_default();
        let said = said.trim_start_matches("curl: ").to_owned();
        Ok((status.code(), said))
    }
}

impl Drop for Curl {
    fn drop(&mut self) {
        // One that has ended already cannot be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What curl is told, in the form of its configuration files.
fn settings(download: &Download<'_>, from: u64) -> String {
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
        PullProxy::HostsOwn => {}
        PullProxy::Direct => set("noproxy", "*"),
        PullProxy::At(proxy) => {
            set("proxy", proxy.expose());
            // What the host's own settings except is not meant here.
            set("noproxy", "");
        }
    }
    if from > 0 {
        set("continue-at", &from.to_string());
    }
    text
}

fn unusable(download: &Download<'_>, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => download.no_mirror("there is no `curl` on the host"),
        _ => download.no_mirror(&format!("curl could not be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use casement_resource::Secret;

    use super::*;

    #[test]
    fn what_curl_is_told_cannot_be_left_by_a_quote() {
        let url = Secret::new(r#"http://a:b"\@mirror/x"#.to_owned());
        let proxy = PullProxy::At(Secret::new("http://proxy:3128".to_owned()));
        let told = settings(
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
            assert!(told.lines().any(|it| it == line), "{line} in {told}");
        }
    }
}
