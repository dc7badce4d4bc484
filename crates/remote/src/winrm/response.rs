//! Parses the responses of WS-Management.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roxmltree::{Document, Node};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResponseError {
    #[error("the response is not XML: {0}")]
    NotXml(String),
    #[error("the response has no `{0}`")]
    Missing(&'static str),
    #[error("the output in the response is not base64")]
    NotBase64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The Windows error code, if any.
    pub(crate) code: Option<u32>,
    /// The fault code without its prefix: `TimedOut`, `AccessDenied` …
    pub(crate) kind: String,
    pub(crate) reason: String,
}

impl Fault {
    pub(crate) fn is_timeout(&self) -> bool {
        self.kind == "TimedOut" || self.code == Some(2_150_858_793)
    }

    pub(crate) fn is_denied(&self) -> bool {
        self.kind == "AccessDenied" || self.code == Some(5)
    }

    pub(crate) fn is_too_large(&self) -> bool {
        self.kind == "EncodingLimit"
    }

    /// The shell or the command no longer exists.
    pub(crate) fn is_closed(&self) -> bool {
        // ERROR_OPERATION_ABORTED, no such shell, shell closed.
        matches!(self.code, Some(995 | 2_150_858_843 | 2_150_859_072))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Set once the command has ended, with its exit code if known.
    pub(crate) ended: Option<Option<u32>>,
}

pub(crate) fn parse_fault(text: &str) -> Option<Fault> {
    let document = Document::parse(text).ok()?;
    let fault = find(&document, "Fault")?;
    let descendant = |name: &str| {
        let mut all = fault.descendants();
        all.find(|node| node.tag_name().name() == name)
    };
    let detail = descendant("WSManFault");
    let code = detail.and_then(|node| node.attribute("Code"));
    let kind =
        descendant("Subcode").and_then(|node| node.descendants().find_map(|node| node.text()));
    let kind = kind.unwrap_or_default().trim();
    // The provider's message is more specific than the fault's reason.
    let message = detail.map(text_of).filter(|text| !text.is_empty());
    let message = message.or_else(|| descendant("Reason").map(text_of));
    Some(Fault {
        code: code.and_then(|code| code.parse().ok()),
        kind: kind.rsplit(':').next().unwrap_or_default().to_owned(),
        reason: message.unwrap_or_default(),
    })
}

pub(crate) fn shell_id(text: &str) -> Result<String, ResponseError> {
    parse(text, |document| {
        let selector = document.descendants().find(|node| {
            node.tag_name().name() == "Selector" && node.attribute("Name") == Some("ShellId")
        });
        let shell_id = selector.or_else(|| find(document, "ShellId"));
        non_empty_text(shell_id, "ShellId")
    })
}

pub(crate) fn command_id(text: &str) -> Result<String, ResponseError> {
    parse(text, |document| {
        non_empty_text(find(document, "CommandId"), "CommandId")
    })
}

pub(crate) fn parse_received(text: &str) -> Result<Received, ResponseError> {
    parse(text, |document| {
        let mut parse_received = Received::default();
        for node in document.descendants() {
            match node.tag_name().name() {
                "Stream" => {
                    let encoded: String = text_of(node).split_whitespace().collect();
                    let data = STANDARD.decode(encoded);
                    let data = data.map_err(|_| ResponseError::NotBase64)?;
                    match node.attribute("Name") {
                        Some("stderr") => parse_received.stderr.extend(data),
                        _ => parse_received.stdout.extend(data),
                    }
                }
                "CommandState" => {
                    let state = node.attribute("State").unwrap_or_default();
                    if state.ends_with("/Done") {
                        let mut descendant = node.descendants();
                        let code = descendant.find(|node| node.tag_name().name() == "ExitCode");
                        parse_received.ended =
                            Some(code.and_then(|node| exit_code(&text_of(node))));
                    }
                }
                _ => {}
            }
        }
        Ok(parse_received)
    })
}

/// The host's limit for envelopes, in bytes.
pub(crate) fn envelope_limit(text: &str) -> Option<usize> {
    let document = Document::parse(text).ok()?;
    let node = find(&document, "MaxEnvelopeSizekb")?;
    let kilobytes: usize = text_of(node).parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Some hosts write exit codes signed, others unsigned.
fn exit_code(text: &str) -> Option<u32> {
    let number: i64 = text.parse().ok()?;
    u32::try_from(number)
        .ok()
        .or_else(|| i32::try_from(number).ok().map(i32::cast_unsigned))
}

fn parse<T>(
    text: &str,
    extract: impl FnOnce(&Document<'_>) -> Result<T, ResponseError>,
) -> Result<T, ResponseError> {
    match Document::parse(text) {
        Ok(document) => extract(&document),
        Err(error) => Err(ResponseError::NotXml(error.to_string())),
    }
}

fn find<'a, 'input>(document: &'a Document<'input>, name: &str) -> Option<Node<'a, 'input>> {
    document
        .descendants()
        .find(|node| node.tag_name().name() == name)
}

fn non_empty_text(node: Option<Node<'_, '_>>, name: &'static str) -> Result<String, ResponseError> {
    let text = node.map(text_of).filter(|text| !text.is_empty());
    text.ok_or(ResponseError::Missing(name))
}

fn text_of(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(Node::is_text);
    let text: String = texts.filter_map(|node| node.text()).collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response of Windows Server to a `Receive` without output.
    const TIMED_OUT: &str = r#"<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><s:Fault><s:Code><s:Value>s:Receiver</s:Value><s:Subcode><s:Value>w:TimedOut</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="en-US">The WS-Management service cannot complete the operation within the time specified in OperationTimeout.  </s:Text></s:Reason><s:Detail><f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="2150858793" Machine="win1"><f:Message>It took too long.</f:Message></f:WSManFault></s:Detail></s:Fault></s:Body></s:Envelope>"#;

    #[test]
    fn fault_has_code_and_reason() {
        let parse_fault = parse_fault(TIMED_OUT).unwrap();
        assert!(parse_fault.is_timeout() && !parse_fault.is_denied() && !parse_fault.is_closed());
        assert_eq!(parse_fault.code, Some(2_150_858_793));
        assert_eq!(parse_fault.reason, "It took too long.");
        let kind = |kind: &str| {
            super::parse_fault(
                &TIMED_OUT
                    .replace("w:TimedOut", kind)
                    .replace("2150858793", "1"),
            )
        };
        assert!(kind("w:AccessDenied").unwrap().is_denied());
        assert!(kind("w:EncodingLimit").unwrap().is_too_large());
        assert!(super::parse_fault("<a/>").is_none() && super::parse_fault("no XML").is_none());
    }

    #[test]
    fn streams_are_separated_and_the_end_has_an_exit_code() {
        let response = |state: &str| {
            format!(
                r#"<s:Envelope xmlns:s="s" xmlns:rsp="r"><s:Body><rsp:ReceiveResponse>
                <rsp:Stream Name="stdout" CommandId="1">b3V0
IG9uZQ==</rsp:Stream><rsp:Stream Name="stderr" CommandId="1">ZXJy</rsp:Stream>
                <rsp:Stream Name="stdout" CommandId="1" End="true"/>{state}</rsp:ReceiveResponse></s:Body></s:Envelope>"#
            )
        };
        let running =
            parse_received(&response(r#"<rsp:CommandState State="x/Running"/>"#)).unwrap();
        assert_eq!(running.stdout, b"out one");
        assert_eq!((running.stderr, running.ended), (b"err".to_vec(), None));
        for (code, expected) in [
            ("0", 0),
            ("4294967295", u32::MAX),
            ("-1073741510", 0xc000_013a),
        ] {
            let state = format!(
                r#"<rsp:CommandState State="x/Done"><rsp:ExitCode>{code}</rsp:ExitCode></rsp:CommandState>"#
            );
            let done = parse_received(&response(&state)).unwrap();
            assert_eq!(done.ended, Some(Some(expected)));
        }
        assert_eq!(
            parse_received(&response("").replace("ZXJy", "Z")),
            Err(ResponseError::NotBase64)
        );
    }

    #[test]
    fn ids_and_limits_are_found() {
        let made = r#"<a><Selector Name="Other">x</Selector><Selector Name="ShellId">11-22</Selector></a>"#;
        assert_eq!(shell_id(made).unwrap(), "11-22");
        assert_eq!(shell_id("<a/>"), Err(ResponseError::Missing("ShellId")));
        assert_eq!(
            command_id("<a><b:CommandId xmlns:b='b'>7</b:CommandId></a>").unwrap(),
            "7"
        );
        let config =
            "<c:Config xmlns:c='c'><c:MaxEnvelopeSizekb>150</c:MaxEnvelopeSizekb></c:Config>";
        assert_eq!(envelope_limit(config), Some(153_600));
        assert_eq!(envelope_limit("<a/>"), None);
    }
}
