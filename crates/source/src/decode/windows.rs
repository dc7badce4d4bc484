//! `windows`, `runtime` and `proxy`.

use casement_diag::{Diagnostic, Part};
use casement_spec::{Proxy, Runtime, Windows, defaults};

use super::{if_given, or_default};
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::reader::{FieldNode, Reader};
use crate::shapes;

pub(super) fn windows(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Windows> {
    let mapping = Mapping::read(reader, at, &shapes::WINDOWS)?;
    let default = Windows::default();
    let base_dir = or_default(
        mapping.get("baseDir"),
        |at| reader.parse(&at, "a Windows directory", defaults::BASE_DIR),
        || default.base_dir,
    );
    let components = or_default(
        mapping.get("components"),
        |at| reader.named(&at, "component mode"),
        || default.components,
    );
    let reboot = or_default(
        mapping.get("reboot"),
        |at| reader.named(&at, "reboot policy"),
        || default.reboot,
    );
    let repair = or_default(
        mapping.get("repair"),
        |at| reader.named(&at, "repair policy"),
        || default.repair,
    );
    let defender = or_default(
        mapping.get("defender"),
        |at| reader.named(&at, "Defender policy"),
        || default.defender,
    );
    let updates = or_default(
        mapping.get("updates"),
        |at| reader.parse_list(&at, "a list of updates", "KB5012637"),
        Vec::new,
    );
    let time_servers = or_default(
        mapping.get("timeServers"),
        |at| reader.parse_list(&at, "a list of time servers", "10.3.0.1"),
        Vec::new,
    );
    Some(Windows {
        base_dir: base_dir?,
        components: components?,
        reboot: reboot?,
        repair: repair?,
        defender: defender?,
        updates: updates?,
        time_servers: time_servers?,
    })
}

pub(super) fn runtime(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Runtime> {
    let mapping = Mapping::read(reader, at, &shapes::RUNTIME)?;
    let kind = or_default(
        mapping.get("kind"),
        |at| reader.named(&at, "container runtime"),
        || Runtime::default().kind,
    );
    let version = if_given(mapping.get("version"), |at| {
        reader.parse(&at, "a version", "2.1.4")
    });
    Some(Runtime {
        kind: kind?,
        version: version?,
    })
}

pub(super) fn proxy(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Proxy> {
    let mapping = Mapping::read(reader, at, &shapes::PROXY)?;
    let example = "http://10.3.0.9:3128";
    let http = if_given(mapping.get("http"), |at| {
        reader.parse(&at, "a URL", example)
    });
    let https = if_given(mapping.get("https"), |at| {
        reader.parse(&at, "a URL", example)
    });
    let no = or_default(
        mapping.get("no"),
        |at| {
            reader.parse_list(
                &at,
                "a list of hosts, domains and networks",
                ".shop.example",
            )
        },
        Vec::new,
    );
    let credentials = if_given(mapping.get("credentials"), |at| {
        super::images::account(reader, &at)
    });
    if let (Given::Value(at), Given::Absent, Given::Absent) = (
        mapping.get("credentials"),
        mapping.get("http"),
        mapping.get("https"),
    ) {
        let message = "`proxy.credentials` is set, but `proxy.http` and `proxy.https` are not";
        let finding = Diagnostic::error(at.path, message).code(codes::FIELD_DEPENDENCY);
        let help = "add `http` or `https`, or remove `credentials`";
        reader.add(finding.at(Part::Key).help(help));
    }
    Some(Proxy {
        http: http?,
        https: https?,
        credentials: credentials?,
        no: no?,
    })
}
