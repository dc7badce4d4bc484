//! WS-Management: envelopes in, envelopes out.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use roxmltree::{Document, Node};

use crate::server::{Shared, next_name};
use crate::shell::Shell;

type Answer = (StatusCode, String);

struct Asked {
    action: String,
    message: String,
    shell: String,
    command: String,
    line: String,
    stdin: Vec<u8>,
    end: bool,
}

fn read(envelope: &str) -> Asked {
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
    let words = [text("Command"), text("Arguments")];
    let command = [
        attribute("Stream", "CommandId"),
        attribute("DesiredStream", "CommandId"),
        attribute("Signal", "CommandId"),
    ];
    Asked {
        action: action.rsplit('/').next().unwrap().to_owned(),
        message: text("MessageID"),
        shell: text("Selector"),
        command: command.concat(),
        line: words.join(" ").trim().to_owned(),
        stdin: STANDARD.decode(text("Stream")).unwrap(),
        end: attribute("Stream", "End").eq_ignore_ascii_case("true"),
    }
}

fn text_of(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().to_owned()
}

pub async fn answer(shared: &Arc<Shared>, envelope: &str) -> Answer {
    let settings = shared.settings();
    let asked = read(envelope);
    shared.actions.lock().unwrap().push(asked.action.clone());
    if envelope.len() > settings.envelope {
        return fault(&asked, "w:EncodingLimit", 2_150_858_824, "too large");
    }
    if !settings.allowed {
        return fault(&asked, "w:AccessDenied", 5, "Access is denied.");
    }
    let boot = shared.host.machine.boots();
    let shell = {
        let mut shells = shared.shells.lock().unwrap();
        for (_, shell) in shells.extract_if(|_, shell| shell.boot != boot) {
            shell.end();
        }
        shells.get(&asked.shell).cloned()
    };
    match (asked.action.as_str(), shell) {
        ("Create", _) => {
            let name = next_name(shared);
            let shell = Arc::new(Shell::new(boot));
            shared.shells.lock().unwrap().insert(name.clone(), shell);
            reply(
                &asked,
                &format!(
                    r#"<x:ResourceCreated xmlns:x="http://schemas.xmlsoap.org/ws/2004/09/transfer"><a:Address>http://127.0.0.1/wsman</a:Address><a:ReferenceParameters><w:SelectorSet><w:Selector Name="ShellId">{name}</w:Selector></w:SelectorSet></a:ReferenceParameters></x:ResourceCreated>"#
                ),
            )
        }
        ("Get", _) => match settings.told_envelope {
            Some(bytes) => reply(
                &asked,
                &format!(
                    r#"<cfg:Config xmlns:cfg="http://schemas.microsoft.com/wbem/wsman/1/config"><cfg:MaxEnvelopeSizekb>{}</cfg:MaxEnvelopeSizekb></cfg:Config>"#,
                    bytes / 1024
                ),
            ),
            None => fault(&asked, "w:InternalError", 1, "not told"),
        },
        (_, None) => fault(
            &asked,
            "w:InvalidSelectors",
            2_150_858_843,
            "The shell was not found.",
        ),
        ("Delete", Some(shell)) => {
            shell.end();
            shared.shells.lock().unwrap().remove(&asked.shell);
            reply(&asked, "")
        }
        ("Command", Some(shell)) => {
            let name = next_name(shared);
            shell.start(&name, &asked.line, Arc::clone(&shared.host));
            reply(
                &asked,
                &format!(
                    "<rsp:CommandResponse><rsp:CommandId>{name}</rsp:CommandId></rsp:CommandResponse>"
                ),
            )
        }
        ("Send", Some(shell)) => {
            shell
                .tell(&asked.command, asked.stdin.clone(), asked.end)
                .await;
            reply(&asked, "<rsp:SendResponse/>")
        }
        ("Signal", Some(shell)) => {
            shell.kill(&asked.command);
            reply(&asked, "<rsp:SignalResponse/>")
        }
        ("Receive", Some(shell)) => receive(&asked, &shell, settings.receive).await,
        (other, _) => panic!("nobody asks for {other}"),
    }
}

async fn receive(asked: &Asked, shell: &Shell, wait: std::time::Duration) -> Answer {
    let Some(heard) = shell.hear(&asked.command, wait).await else {
        return fault(asked, "w:TimedOut", 2_150_858_793, "It took too long.");
    };
    let id = &asked.command;
    let mut body = String::new();
    for (name, data) in [("stdout", &heard.stdout), ("stderr", &heard.stderr)] {
        if !data.is_empty() {
            let data = STANDARD.encode(data);
            body += &format!(r#"<rsp:Stream Name="{name}" CommandId="{id}">{data}</rsp:Stream>"#);
        }
    }
    let state = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/CommandState";
    body += &match heard.exit {
        Some(code) => format!(
            r#"<rsp:CommandState CommandId="{id}" State="{state}/Done"><rsp:ExitCode>{code}</rsp:ExitCode></rsp:CommandState>"#
        ),
        None => format!(r#"<rsp:CommandState CommandId="{id}" State="{state}/Running"/>"#),
    };
    reply(
        asked,
        &format!("<rsp:ReceiveResponse>{body}</rsp:ReceiveResponse>"),
    )
}

fn envelope(asked: &Asked, action: &str, body: &str) -> String {
    format!(
        r#"<s:Envelope xml:lang="en-US" xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd" xmlns:rsp="http://schemas.microsoft.com/wbem/wsman/1/windows/shell"><s:Header><a:Action>{action}</a:Action><a:RelatesTo>{}</a:RelatesTo></s:Header><s:Body>{body}</s:Body></s:Envelope>"#,
        asked.message
    )
}

fn reply(asked: &Asked, body: &str) -> Answer {
    let action = format!("{}Response", asked.action);
    (StatusCode::OK, envelope(asked, &action, body))
}

fn fault(asked: &Asked, kind: &str, code: u32, words: &str) -> Answer {
    let body = format!(
        r#"<s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>{kind}</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="en-US">{words}</s:Text></s:Reason><s:Detail><f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="{code}" Machine="win1"><f:Message>{words}</f:Message></f:WSManFault></s:Detail></s:Fault>"#
    );
    let action = "http://schemas.dmtf.org/wbem/wsman/1/wsman/fault";
    let text = envelope(asked, action, &body);
    (StatusCode::INTERNAL_SERVER_ERROR, text)
}
