//! WS-Management: parses request envelopes and writes responses.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use roxmltree::{Document, Node};

use crate::server::{Shared, next_name};
use crate::shell::Shell;

type Response = (StatusCode, String);

struct SoapRequest {
    action: String,
    message: String,
    shell: String,
    command: String,
    line: String,
    stdin: Vec<u8>,
    end: bool,
}

fn read(envelope: &str) -> SoapRequest {
    let document = Document::parse(envelope).unwrap();
    let find = |name: &str| {
        let mut all = document.descendants();
        all.find(|node| node.tag_name().name() == name)
    };
    let text = |name: &str| find(name).map_or_else(String::new, text_of);
    let attribute = |name: &str, key: &str| {
        let value = find(name).and_then(|node| node.attribute(key));
        value.unwrap_or_default().to_owned()
    };
    let action = text("Action");
    let line = [text("Command"), text("Arguments")];
    let command = [
        attribute("Stream", "CommandId"),
        attribute("DesiredStream", "CommandId"),
        attribute("Signal", "CommandId"),
    ];
    SoapRequest {
        action: action.rsplit('/').next().unwrap().to_owned(),
        message: text("MessageID"),
        shell: text("Selector"),
        command: command.concat(),
        line: line.join(" ").trim().to_owned(),
        stdin: STANDARD.decode(text("Stream")).unwrap(),
        end: attribute("Stream", "End").eq_ignore_ascii_case("true"),
    }
}

fn text_of(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().to_owned()
}

pub async fn respond(shared: &Arc<Shared>, envelope: &str) -> Response {
    let settings = shared.settings();
    let request = read(envelope);
    shared.actions.lock().unwrap().push(request.action.clone());
    if envelope.len() > settings.envelope {
        return fault(&request, "w:EncodingLimit", 2_150_858_824, "too large");
    }
    if !settings.allowed {
        return fault(&request, "w:AccessDenied", 5, "Access is denied.");
    }
    let boot = shared.host.backend.boots();
    let shell = {
        let mut shells = shared.shells.lock().unwrap();
        for (_, shell) in shells.extract_if(|_, shell| shell.boot != boot) {
            shell.end();
        }
        shells.get(&request.shell).cloned()
    };
    match (request.action.as_str(), shell) {
        ("Create", _) => {
            let name = next_name(shared);
            let shell = Arc::new(Shell::new(boot));
            shared.shells.lock().unwrap().insert(name.clone(), shell);
            reply(
                &request,
                &format!(
                    r#"<x:ResourceCreated xmlns:x="http://schemas.xmlsoap.org/ws/2004/09/transfer"><a:Address>http://127.0.0.1/wsman</a:Address><a:ReferenceParameters><w:SelectorSet><w:Selector Name="ShellId">{name}</w:Selector></w:SelectorSet></a:ReferenceParameters></x:ResourceCreated>"#
                ),
            )
        }
        ("Get", _) => match settings.advertised_envelope {
            Some(bytes) => reply(
                &request,
                &format!(
                    r#"<cfg:Config xmlns:cfg="http://schemas.microsoft.com/wbem/wsman/1/config"><cfg:MaxEnvelopeSizekb>{}</cfg:MaxEnvelopeSizekb></cfg:Config>"#,
                    bytes / 1024
                ),
            ),
            None => fault(&request, "w:InternalError", 1, "not advertised"),
        },
        (_, None) => fault(
            &request,
            "w:InvalidSelectors",
            2_150_858_843,
            "The shell was not found.",
        ),
        ("Delete", Some(shell)) => {
            shell.end();
            shared.shells.lock().unwrap().remove(&request.shell);
            reply(&request, "")
        }
        ("Command", Some(shell)) => {
            let name = next_name(shared);
            shell.start(&name, &request.line, Arc::clone(&shared.host));
            reply(
                &request,
                &format!(
                    "<rsp:CommandResponse><rsp:CommandId>{name}</rsp:CommandId></rsp:CommandResponse>"
                ),
            )
        }
        ("Send", Some(shell)) => {
            shell
                .write_stdin(&request.command, request.stdin.clone(), request.end)
                .await;
            reply(&request, "<rsp:SendResponse/>")
        }
        ("Signal", Some(shell)) => {
            shell.kill(&request.command);
            reply(&request, "<rsp:SignalResponse/>")
        }
        ("Receive", Some(shell)) => receive(&request, &shell, settings.receive).await,
        (other, _) => panic!("unexpected action {other}"),
    }
}

async fn receive(request: &SoapRequest, shell: &Shell, timeout: std::time::Duration) -> Response {
    let Some(output) = shell.read_output(&request.command, timeout).await else {
        return fault(request, "w:TimedOut", 2_150_858_793, "It took too long.");
    };
    let id = &request.command;
    let mut body = String::new();
    for (name, data) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !data.is_empty() {
            let data = STANDARD.encode(data);
            body += &format!(r#"<rsp:Stream Name="{name}" CommandId="{id}">{data}</rsp:Stream>"#);
        }
    }
    let state = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/CommandState";
    body += &match output.exit {
        Some(code) => format!(
            r#"<rsp:CommandState CommandId="{id}" State="{state}/Done"><rsp:ExitCode>{code}</rsp:ExitCode></rsp:CommandState>"#
        ),
        None => format!(r#"<rsp:CommandState CommandId="{id}" State="{state}/Running"/>"#),
    };
    reply(
        request,
        &format!("<rsp:ReceiveResponse>{body}</rsp:ReceiveResponse>"),
    )
}

fn envelope(request: &SoapRequest, action: &str, body: &str) -> String {
    format!(
        r#"<s:Envelope xml:lang="en-US" xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd" xmlns:rsp="http://schemas.microsoft.com/wbem/wsman/1/windows/shell"><s:Header><a:Action>{action}</a:Action><a:RelatesTo>{}</a:RelatesTo></s:Header><s:Body>{body}</s:Body></s:Envelope>"#,
        request.message
    )
}

fn reply(request: &SoapRequest, body: &str) -> Response {
    let action = format!("{}Response", request.action);
    (StatusCode::OK, envelope(request, &action, body))
}

fn fault(request: &SoapRequest, kind: &str, code: u32, message: &str) -> Response {
    let body = format!(
        r#"<s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>{kind}</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="en-US">{message}</s:Text></s:Reason><s:Detail><f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="{code}" Machine="win1"><f:Message>{message}</f:Message></f:WSManFault></s:Detail></s:Fault>"#
    );
    let action = "http://schemas.dmtf.org/wbem/wsman/1/wsman/fault";
    let text = envelope(request, action, &body);
    (StatusCode::INTERNAL_SERVER_ERROR, text)
}
