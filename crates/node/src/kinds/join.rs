//! `join`: kubeadm does it; this keeps its token off the disk as far as it can.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::{
    Access, Code, Diff, Failure, HostPath, Join, JoinFacts, Prior, Resource, Secret,
};

use super::directory::make_parents;
use super::{Kind, Place, bad_path, wrong_prior};
use crate::platform::{EntryKind, Form, Program, Result};

/// The service that kubeadm insists on.
const KUBELET: &str = "kubelet";

impl Kind for Join {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&observe(self, at)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        if let Some(server) = observe(self, at)?.server {
            return Err(Failure::new(
                Code::Foreign,
                format!("this host has joined a cluster already: `{server}`"),
                "take it out of that cluster first (`kubeadm reset`)",
            )
            .values(format!("https://{}", self.api_server), server));
        }
        let mut existing = Vec::new();
        for path in self.made_files().map_err(bad_path)? {
            if at.platform.entry(&path)?.is_some() {
                existing.push(path);
            }
        }
        Ok(Prior::Join(existing))
    }

    fn change(&self, at: &Place<'_>, prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        sweep(self, at)?;
        if self.look(at)?.is_right() {
            return Ok(());
        }
        // What a join that was cut off has left, kubeadm takes for a reason to
        // refuse: its files, and a kubelet on its port.
        at.platform.stop_service(KUBELET)?;
        remove_made(self, at, prior)?;
        let token = at.secrets.get(&self.token).ok_or_else(|| {
            Failure::new(
                Code::SecretMissing,
                format!("the secret `{}` did not come", self.token),
                "apply again: casement makes a fresh token",
            )
        })?;
        let result = join(self, at, token);
        // The token goes whatever the outcome; the first failure is the one
        // that matters.
        let swept = sweep(self, at);
        result.and(swept)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        at.platform.stop_service(KUBELET)?;
        sweep(self, at)?;
        remove_made(self, at, prior)
    }
}

/// Deletes the files that hold a token.
pub(super) fn sweep(join: &Join, at: &Place<'_>) -> Result<()> {
    for path in join.token_files().map_err(bad_path)? {
        at.platform.remove_file(&path)?;
    }
    at.platform.remove_tree(&patches_folder(join)?)
}

fn patches_folder(join: &Join) -> Result<HostPath> {
    join.kubernetes_dir
        .join("casement-patches")
        .map_err(bad_path)
}

fn remove_made(join: &Join, at: &Place<'_>, prior: &Prior) -> Result<()> {
    let Prior::Join(existing) = prior else {
        return Err(wrong_prior("a join", prior));
    };
    for path in join.made_files().map_err(bad_path)? {
        if !existing.contains(&path) {
            at.platform.remove_file(&path)?;
        }
    }
    Ok(())
}

fn observe(join: &Join, at: &Place<'_>) -> Result<JoinFacts> {
    let certificate = join.client_certificate().map_err(bad_path)?;
    let mut leftovers = Vec::new();
    for path in join.token_files().map_err(bad_path)? {
        if at.platform.entry(&path)?.is_some() {
            leftovers.push(path);
        }
    }
    Ok(JoinFacts {
        server: server(join, at)?,
        // The kubelet makes it a link to the current one.
        certificate: at.platform.entry(&certificate)?.is_some(),
        leftovers,
    })
}

/// The first `server:` of `kubelet.conf`, in block YAML as the kubelet writes it.
fn server(join: &Join, at: &Place<'_>) -> Result<Option<String>> {
    let path = join.kubelet_conf().map_err(bad_path)?;
    match at.platform.entry(&path)? {
        Some(entry) if entry.kind == EntryKind::File => {}
        _ => return Ok(None),
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut at.platform.open(&path)?, &mut text).map_err(|error| {
        Failure::new(
            Code::System,
            format!("`{path}` cannot be read"),
            "check its permissions, and whether a program holds it open",
        )
        .found(error.to_string())
    })?;
    let mut values = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("server:"));
    let value = values
        .next()
        .map(|value| value.trim().trim_matches(['"', '\'']));
    Ok(Some(value.unwrap_or_default().to_owned()))
}

fn join(join: &Join, at: &Place<'_>, token: &Secret) -> Result<()> {
    let form = Form {
        access: Access::AdministratorsOnly,
        executable: false,
    };
    let [configuration, _] = join.token_files().map_err(bad_path)?;
    make_parents(at.platform, &configuration)?;
    let patches = write_patches(join, at, form)?;
    let text = Secret::new(join.configuration(token, patches.as_ref()));
    at.platform
        .write(&configuration, &mut text.expose().as_bytes(), form)?;
    let program = Program {
        arguments: vec![
            join.kubeadm.to_string(),
            "join".to_owned(),
            "--config".to_owned(),
            configuration.to_string(),
        ],
        environment: environment(join),
        folder: root(&join.kubernetes_dir),
        deadline: Duration::from_secs(u64::from(join.timeout_seconds)),
    };
    let ended = at.platform.run(&program)?;
    if ended.code == Some(0) {
        return Ok(());
    }
    let how = match ended.code {
        Some(code) => format!("ended with code {code}"),
        None => format!("was ended by force after {} s", join.timeout_seconds),
    };
    let output = ended.output.replace(token.expose(), "(token)");
    Err(Failure::new(
        Code::ProgramFailed,
        format!("kubeadm join {how}"),
        "its last lines say why; mend that and apply again",
    )
    .values("the host joins the cluster", last_lines(&output)))
}

fn write_patches(join: &Join, at: &Place<'_>, form: Form) -> Result<Option<HostPath>> {
    if join.patches.is_empty() {
        return Ok(None);
    }
    let folder = patches_folder(join)?;
    at.platform.make_directory(&folder, form.access)?;
    for patch in &join.patches {
        let path = folder.join(&patch.file_name).map_err(bad_path)?;
        at.platform
            .write(&path, &mut patch.content.as_bytes(), form)?;
    }
    Ok(Some(folder))
}

/// kubeadm asks programs of the node for their versions, by the search path.
fn environment(join: &Join) -> BTreeMap<String, String> {
    let separator = if join.kubeadm.is_windows() { ';' } else { ':' };
    let old = std::env::var("PATH").unwrap_or_default();
    let folder = join
        .kubeadm
        .parent()
        .map(|folder| folder.to_string())
        .unwrap_or_default();
    BTreeMap::from([("PATH".to_owned(), format!("{folder}{separator}{old}"))])
}

/// kubeadm writes to the drive that it is started on.
fn root(path: &HostPath) -> HostPath {
    let mut root = path.clone();
    while let Some(parent) = root.parent() {
        root = parent;
    }
    root
}

fn last_lines(output: &str) -> String {
    let lines: Vec<_> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let from = lines.len().saturating_sub(8);
    lines.get(from..).unwrap_or_default().join("\n")
}
