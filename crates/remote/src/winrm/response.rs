//! What a host answers to the requests of WS-Management.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roxmltree::{Document, Node};

/// The host answers with something else than was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AnswerError {
    /// No XML at all.
    #[error("the answer is no XML: {0}")]
    NoXml(String),
    /// XML without what was asked for.
    #[error("the answer has no `{0}`")]
    Lacks(&'static str),
    /// A stream whose base64 is broken.
    #[error("the answer has output that is not base64")]
    NotBase64,
}

/// The host says no.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What Windows calls it, where it says so.
    pub(crate) code: Option<u32>,
    /// The fault's kind without its prefix: `TimedOut`, `AccessDenied` …
    pub(crate) kind: String,
    /// In the host's own words.
    pub(crate) reason: String,
}

impl Fault {
    /// Nothing happened in the time that was given.
    pub(crate) fn is_time_out(&self) -> bool {
        self.kind == "TimedOut" || self.code == Some(2_150_858_793)
    }

    /// The account is logged in, and may not do this.
    pub(crate) fn is_denied(&self) -> bool {
        self.kind == "AccessDenied" || self.code == Some(5)
    }

    /// The envelope was larger than the host takes.
    pub(crate) fn is_too_large(&self) -> bool {
        self.kind == "EncodingLimit"
    }

    /// The shell or its command is not there any more.
    pub(crate) fn is_gone(&self) -> bool {
        // Aborted, no such shell, and the shell was closed.
        matches!(self.code, Some(995 | 2_150_858_843 | 2_150_859_072))
    }
}

/// What a command said, and whether it has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// The exit code of a command that has ended.
    pub(crate) ended: Option<Option<u32>>,
}

/// Reads a fault, if it is one.
pub(crate) fn fault(text: &str) -> Option<Fault> {
    let document = Document::parse(text).ok()?;
    let fault = find(&document, "Fault")?;
    let inside = |name: &str| {
        let mut all = fault.descendants();
        all.find(|node| node.tag_name().name() == name)
    };
    let detail = inside("WSManFault");
    let code = detail.and_then(|node| node.attribute("Code"));
    let kind = inside("Subcode").and_then(|node| node.descendants().find_map(|node| node.text()));
    let kind = kind.unwrap_or_default().trim();
    // What the provider says goes deeper than the fault's own sentence.
    let words = detail.map(text_of).filter(|text| !text.is_empty());
    let words = words.or_else(|| inside("Reason").map(text_of));
    Some(Fault {
        code: code.and_then(|code| code.parse().ok()),
        kind: kind.rsplit(':').next().unwrap_or_default().to_owned(),
        reason: words.unwrap_or_default(),
    })
}

/// The name of the shell that was made.
pub(crate) fn shell(text: &str) -> Result<String, AnswerError> {
    read(text, |document| {
        let selector = document.descendants().find(|node| {
            node.tag_name().name() == "Selector" && node.attribute("Name") == Some("ShellId")
        });
        let shell = selector.or_else(|| find(document, "ShellId"));
        named(shell, "ShellId")
    })
}

/// The name of the command that was started.
pub(crate) fn command(text: &str) -> Result<String, AnswerError> {
    read(text, |document| {
        named(find(document, "CommandId"), "CommandId")
    })
}

/// What came from a command.
pub(crate) fn received(text: &str) -> Result<Received, AnswerError> {
    read(text, |document| {
        let mut received = Received::default();
        for node in document.descendants() {
            match node.tag_name().name() {
                "Stream" => {
                    let encoded: String = text_of(node).split_whitespace().collect();
                    let data = STANDARD.decode(encoded);
                    let data = data.map_err(|_| AnswerError::NotBase64)?;
                    match node.attribute("Name") {
                        Some("stderr") => received.stderr.extend(data),
                        _ => received.stdout.extend(data),
                    }
                }
                "CommandState" => {
                    let state = node.attribute("State").unwrap_or_default();
                    if state.ends_with("/Done") {
                        let mut inside = node.descendants();
                        let code = inside.find(|node| node.tag_name().name() == "ExitCode");
                        received.ended = Some(code.and_then(|node| exit_code(&text_of(node))));
                    }
                }
                _ => {}
            }
        }
        Ok(received)
    })
}

/// The largest envelope that the host takes, in bytes.
pub(crate) fn envelope_limit(text: &str) -> Option<usize> {
    let document = Document::parse(text).ok()?;
    let node = find(&document, "MaxEnvelopeSizekb")?;
    let kilobytes: usize = text_of(node).parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Exit codes are written signed by some hosts, unsigned by others.
fn exit_code(text: &str) -> Option<u32> {
    let number: i64 = text.parse().ok()?;
    u32::try_from(number)
        .ok()
        .or_else(|| i32::try_from(number).ok().map(i32::cast_unsigned))
}

fn read<T>(
    text: &str,
    taken: impl FnOnce(&Document<'_>) -> Result<T, AnswerError>,
) -> Result<T, AnswerError> {
    match Document::parse(text) {
        Ok(document) => taken(&document),
        Err(error) => Err(AnswerError::NoXml(error.to_string())),
    }
}

fn find<'a, 'input>(document: &'a Document<'input>, name: &str) -> Option<Node<'a, 'input>> {
    document
        .descendants()
        .find(|node| node.tag_name().name() == name)
}

fn named(node: Option<Node<'_, '_>>, name: &'static str) -> Result<String, AnswerError> {
    let text = node.map(text_of).filter(|text| !text.is_empty());
    text.ok_or(AnswerError::Lacks(name))
}

fn text_of(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(Node::is_text);
    let text: String = texts.filter_map(|node| node.text()).collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Windows Server sends it when nothing was said in time.
    const TIMED_OUT: &str = r#"<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><s:Fault><s:Code><s:Value>s:Receiver</s:Value><s:Subcode><s:Value>w:TimedOut</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="en-US">The WS-Management service cannot complete the operation within the time specified in OperationTimeout.  </s:Text></s:Reason><s:Detail><f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="2150858793" Machine="win1"><f:Message>It took too long.</f:Message></f:WSManFault></s:Detail></s:Fault></s:Body></s:Envelope>"#;

    #[test]
    fn a_fault_is_read_with_its_code_and_words() {
        let fault = fault(TIMED_OUT).unwrap();
        assert!(fault.is_time_out() && !fault.is_denied() && !fault.is_gone());
        assert_eq!(fault.code, Some(2_150_858_793));
        assert_eq!(fault.reason, "It took too long.");
        let kind = |kind: &str| {
            super::fault(
                &TIMED_OUT
                    .replace("w:TimedOut", kind)
                    .replace("2150858793", "1"),
            )
        };
        assert!(kind("w:AccessDenied").unwrap().is_denied());
        assert!(kind("w:EncodingLimit").unwrap().is_too_large());
        assert!(super::fault("<a/>").is_none() && super::fault("no XML").is_none());
    }

    #[test]
    fn output_comes_apart_and_the_end_has_its_code() {
        let answer = |state: &str| {
            format!(
                r#"<s:Envelope xmlns:s="s" xmlns:rsp="r"><s:Body><rsp:ReceiveResponse>
                <rsp:Stream Name="stdout" CommandId="1">b3V0
IG9uZQ==</rsp:Stream><rsp:Stream Name="stderr" CommandId="1">ZXJy</rsp:Stream>
                <rsp:Stream Name="stdout" CommandId="1" End="true"/>{state}</rsp:ReceiveResponse></s:Body></s:Envelope>"#
            )
        };
        let running = received(&answer(r#"<rsp:CommandState State="x/Running"/>"#)).unwrap();
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
            let done = received(&answer(&state)).unwrap();
            assert_eq!(done.ended, Some(Some(expected)));
        }
        assert_eq!(
            received(&answer("").replace("ZXJy", "Z")),
            Err(AnswerError::NotBase64)
        );
    }

    #[test]
    fn names_and_limits_are_found() {
        let made = r#"<a><Selector Name="Other">x</Selector><Selector Name="ShellId">11-22</Selector></a>"#;
        assert_eq!(shell(made).unwrap(), "11-22");
        assert_eq!(shell("<a/>"), Err(AnswerError::Lacks("ShellId")));
        assert_eq!(
            command("<a><b:CommandId xmlns:b='b'>7</b:CommandId></a>").unwrap(),
            "7"
        );
        let config =
            "<c:Config xmlns:c='c'><c:MaxEnvelopeSizekb>150</c:MaxEnvelopeSizekb></c:Config>";
        assert_eq!(envelope_limit(config), Some(153_600));
        assert_eq!(envelope_limit("<a/>"), None);
    }
}
