//! The WS-Management requests of a remote shell (MS-WSMV 3.1.4).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The largest response that the host may send, in bytes.
const MAX_RESPONSE_BYTES: usize = 512_000;

const SHELL: &str = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell";
const CMD: &str = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/cmd";
const TRANSFER: &str = "http://schemas.xmlsoap.org/ws/2004/09/transfer";
const CONFIG: &str = "http://schemas.microsoft.com/wbem/wsman/1/config";

/// No `Debug`: the input of a command may contain secrets.
pub(crate) enum Request<'a> {
    /// Opens a shell. The host deletes it after being idle this long, so that a killed
    /// controller leaves nothing behind.
    Create {
        idle: Duration,
    },
    Command {
        shell: &'a str,
        line: &'a str,
    },
    /// Writes to standard input, and closes it if `end` is set.
    Send {
        shell: &'a str,
        command: &'a str,
        data: &'a [u8],
        end: bool,
    },
    Receive {
        shell: &'a str,
        command: &'a str,
    },
    Terminate {
        shell: &'a str,
        command: &'a str,
    },
    /// Deletes a shell and terminates its commands.
    Delete {
        shell: &'a str,
    },
    Settings,
}

/// The size of a `Send` envelope is at most this plus the base64 of its data.
pub(crate) const SEND_OVERHEAD: usize = 4096;

impl Request<'_> {
    /// The host responds within `timeout`, if only with a timeout fault.
    pub(crate) fn envelope(&self, endpoint: &str, message: &str, timeout: Duration) -> String {
        let resource = match self {
            Self::Settings => CONFIG,
            _ => CMD,
        };
        let selector = self.shell().map_or_else(String::new, |shell| {
            let shell = escape(shell);
            format!(
                r#"<w:SelectorSet><w:Selector Name="ShellId">{shell}</w:Selector></w:SelectorSet>"#
            )
        });
        format!(
            r#"<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd" xmlns:p="http://schemas.microsoft.com/wbem/wsman/1/wsman.xsd" xmlns:rsp="{SHELL}"><s:Header><a:To>{endpoint}</a:To><a:ReplyTo><a:Address s:mustUnderstand="true">http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous</a:Address></a:ReplyTo><w:MaxEnvelopeSize s:mustUnderstand="true">{MAX_RESPONSE_BYTES}</w:MaxEnvelopeSize><a:MessageID>uuid:{message}</a:MessageID><w:Locale xml:lang="en-US" s:mustUnderstand="false"/><p:DataLocale xml:lang="en-US" s:mustUnderstand="false"/><w:OperationTimeout>PT{seconds}S</w:OperationTimeout><w:ResourceURI s:mustUnderstand="true">{resource}</w:ResourceURI><a:Action s:mustUnderstand="true">{action}</a:Action>{options}{selector}</s:Header><s:Body>{body}</s:Body></s:Envelope>"#,
            endpoint = escape(endpoint),
            seconds = timeout.as_secs().max(1),
            action = self.action(),
            options = self.options(),
            body = self.body(),
        )
    }

    fn shell(&self) -> Option<&str> {
        match self {
            Self::Create { .. } | Self::Settings => None,
            Self::Command { shell, .. }
            | Self::Send { shell, .. }
            | Self::Receive { shell, .. }
            | Self::Terminate { shell, .. }
            | Self::Delete { shell } => Some(shell),
        }
    }

    fn action(&self) -> String {
        match self {
            Self::Create { .. } => format!("{TRANSFER}/Create"),
            Self::Command { .. } => format!("{SHELL}/Command"),
            Self::Send { .. } => format!("{SHELL}/Send"),
            Self::Receive { .. } => format!("{SHELL}/Receive"),
            Self::Terminate { .. } => format!("{SHELL}/Signal"),
            Self::Delete { .. } => format!("{TRANSFER}/Delete"),
            Self::Settings => format!("{TRANSFER}/Get"),
        }
    }

    /// UTF-8 output of cmd; pipes in place of a console.
    fn options(&self) -> &'static str {
        match self {
            Self::Create { .. } => {
                r#"<w:OptionSet><w:Option Name="WINRS_NOPROFILE">FALSE</w:Option><w:Option Name="WINRS_CODEPAGE">65001</w:Option></w:OptionSet>"#
            }
            Self::Command { .. } => {
                r#"<w:OptionSet><w:Option Name="WINRS_CONSOLEMODE_STDIN">FALSE</w:Option><w:Option Name="WINRS_SKIP_CMD_SHELL">FALSE</w:Option></w:OptionSet>"#
            }
            _ => "",
        }
    }

    fn body(&self) -> String {
        match self {
            Self::Create { idle } => format!(
                "<rsp:Shell><rsp:IdleTimeOut>PT{}S</rsp:IdleTimeOut><rsp:InputStreams>stdin</rsp:InputStreams><rsp:OutputStreams>stdout stderr</rsp:OutputStreams></rsp:Shell>",
                idle.as_secs()
            ),
            Self::Command { line, .. } => format!(
                "<rsp:CommandLine><rsp:Command>{}</rsp:Command></rsp:CommandLine>",
                escape(line)
            ),
            Self::Send {
                command, data, end, ..
            } => format!(
                r#"<rsp:Send><rsp:Stream Name="stdin" CommandId="{}"{}>{}</rsp:Stream></rsp:Send>"#,
                escape(command),
                if *end { r#" End="true""# } else { "" },
                STANDARD.encode(data)
            ),
            Self::Receive { command, .. } => format!(
                r#"<rsp:Receive><rsp:DesiredStream CommandId="{}">stdout stderr</rsp:DesiredStream></rsp:Receive>"#,
                escape(command)
            ),
            Self::Terminate { command, .. } => format!(
                r#"<rsp:Signal CommandId="{}"><rsp:Code>{SHELL}/signal/terminate</rsp:Code></rsp:Signal>"#,
                escape(command)
            ),
            Self::Delete { .. } | Self::Settings => String::new(),
        }
    }
}

/// Escapes text for elements and attributes; characters that XML cannot represent are
/// dropped.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push_str(&format!("&#{};", u32::from(character))),
            character if character.is_control() => {}
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(request: &Request<'_>) -> String {
        request.envelope("http://10.3.0.4:5985/wsman", "1", Duration::from_secs(20))
    }

    #[test]
    fn every_request_is_well_formed_and_names_its_action() {
        let (shell, command) = ("A<1>", "C&2");
        let requests = [
            (
                Request::Create {
                    idle: Duration::from_secs(180),
                },
                "transfer/Create",
            ),
            (
                Request::Command {
                    shell,
                    line: r#"cmd /c "C:\a & b" channel"#,
                },
                "shell/Command",
            ),
            (
                Request::Send {
                    shell,
                    command,
                    data: b"line\n",
                    end: true,
                },
                "shell/Send",
            ),
            (Request::Receive { shell, command }, "shell/Receive"),
            (Request::Terminate { shell, command }, "shell/Signal"),
            (Request::Delete { shell }, "transfer/Delete"),
            (Request::Settings, "transfer/Get"),
        ];
        for (request, action) in requests {
            let text = envelope(&request);
            let read = roxmltree::Document::parse(&text).unwrap();
            let element = |name: &str| {
                let mut all = read.descendants();
                all.find(|node| node.tag_name().name() == name)
            };
            assert!(element("Action").unwrap().text().unwrap().ends_with(action));
            let selector = element("Selector").and_then(|node| node.text());
            assert_eq!(selector, request.shell());
            if let Request::Command { line, .. } = request {
                assert_eq!(element("Command").unwrap().text(), Some(line));
            }
            if let Request::Send { .. } = request {
                let stream = element("Stream").unwrap();
                assert_eq!(stream.attribute("CommandId"), Some(command));
                assert_eq!(stream.attribute("End"), Some("true"));
                assert_eq!(stream.text(), Some("bGluZQo="));
                assert!(text.len() < SEND_OVERHEAD);
            }
        }
    }
}
