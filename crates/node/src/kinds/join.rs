//! `join`: runs `kubeadm join` and removes the token from disk afterwards.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::service_names::KUBELET;
use casement_resource::{
    Access, Code, Diff, Failure, HostPath, Join, JoinFacts, Prior, Resource, Secret,
};

use super::directory::create_parents;
use super::{Kind, KindContext, invalid_path, wrong_prior};
use crate::platform::{EntryKind, Program, Result, WriteOptions};

impl Kind for Join {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&facts(self, context)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        if let Some(server) = facts(self, context)?.server {
            return Err(Failure::new(
                Code::Foreign,
                format!("this host is already a member of the cluster at `{server}`"),
                "remove it from that cluster first (`kubeadm reset`)",
            )
            .values(format!("https://{}", self.api_server), server));
        }
        let mut existing = Vec::new();
        for path in self.created_files().map_err(invalid_path)? {
            if context.platform.entry(&path)?.is_some() {
                existing.push(path);
            }
        }
        Ok(Prior::Join(existing))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        delete_token_files(self, context)?;
        if self.observe(context)?.in_sync() {
            return Ok(());
        }
        // kubeadm refuses to run if an interrupted join left its files, or a kubelet
        // on its port.
        context.platform.stop_service(KUBELET)?;
        remove_created(self, context, prior)?;
        let token = context.secrets.get(&self.token).ok_or_else(|| {
            Failure::new(
                Code::SecretMissing,
                format!("the secret `{}` was not received", self.token),
                "run `casement apply` again: it creates a new token",
            )
        })?;
        let result = join(self, context, token);
        // Always delete the token; report the first failure.
        let deleted = delete_token_files(self, context);
        result.and(deleted)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        context.platform.stop_service(KUBELET)?;
        delete_token_files(self, context)?;
        remove_created(self, context, prior)
    }
}

pub(super) fn delete_token_files(join: &Join, context: &KindContext<'_>) -> Result<()> {
    for path in join.token_files().map_err(invalid_path)? {
        context.platform.remove_file(&path)?;
    }
    context.platform.remove_tree(&patches_folder(join)?)
}

fn patches_folder(join: &Join) -> Result<HostPath> {
    join.kubernetes_dir
        .join("casement-patches")
        .map_err(invalid_path)
}

fn remove_created(join: &Join, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
    let Prior::Join(existing) = prior else {
        return Err(wrong_prior("a join", prior));
    };
    for path in join.created_files().map_err(invalid_path)? {
        if !existing.contains(&path) {
            context.platform.remove_file(&path)?;
        }
    }
    Ok(())
}

fn facts(join: &Join, context: &KindContext<'_>) -> Result<JoinFacts> {
    let certificate = join.client_certificate().map_err(invalid_path)?;
    let mut leftovers = Vec::new();
    for path in join.token_files().map_err(invalid_path)? {
        if context.platform.entry(&path)?.is_some() {
            leftovers.push(path);
        }
    }
    Ok(JoinFacts {
        server: server(join, context)?,
        // A symbolic link to the current certificate.
        certificate: context.platform.entry(&certificate)?.is_some(),
        leftovers,
    })
}

/// The first `server:` of `kubelet.conf`, which the kubelet writes as block YAML.
fn server(join: &Join, context: &KindContext<'_>) -> Result<Option<String>> {
    let path = join.kubelet_conf().map_err(invalid_path)?;
    match context.platform.entry(&path)? {
        Some(entry) if entry.kind == EntryKind::File => {}
        _ => return Ok(None),
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut context.platform.open(&path)?, &mut text).map_err(
        |error| {
            Failure::new(
                Code::System,
                format!("failed to read `{path}`"),
                "check its permissions and whether another program has it open",
            )
            .found(error.to_string())
        },
    )?;
    let mut values = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("server:"));
    let value = values
        .next()
        .map(|value| value.trim().trim_matches(['"', '\'']));
    Ok(Some(value.unwrap_or_default().to_owned()))
}

fn join(join: &Join, context: &KindContext<'_>, token: &Secret) -> Result<()> {
    let form = WriteOptions {
        access: Access::AdministratorsOnly,
        executable: false,
    };
    let [configuration, _] = join.token_files().map_err(invalid_path)?;
    create_parents(context.platform, &configuration)?;
    let patches = write_patches(join, context, form)?;
    let text = Secret::new(join.configuration(token, patches.as_ref()));
    context
        .platform
        .write(&configuration, &mut text.expose().as_bytes(), form)?;
    let program = Program {
        arguments: vec![
            join.kubeadm.to_string(),
            "join".to_owned(),
            "--config".to_owned(),
            configuration.to_string(),
        ],
        environment: environment(join),
        working_dir: root(&join.kubernetes_dir),
        timeout: Duration::from_secs(u64::from(join.timeout_seconds)),
    };
    let exit = context.platform.run(&program)?;
    if exit.code == Some(0) {
        return Ok(());
    }
    let how = match exit.code {
        Some(code) => format!("failed with exit code {code}"),
        None => format!("timed out after {} s", join.timeout_seconds),
    };
    let output = exit.output.replace(token.expose(), "(token)");
    Err(Failure::new(
        Code::ProgramFailed,
        format!("kubeadm join {how}"),
        "fix the error in its output, then run `casement apply` again",
    )
    .values("the host joins the cluster", last_lines(&output)))
}

fn write_patches(
    join: &Join,
    context: &KindContext<'_>,
    form: WriteOptions,
) -> Result<Option<HostPath>> {
    if join.patches.is_empty() {
        return Ok(None);
    }
    let folder = patches_folder(join)?;
    context.platform.create_directory(&folder, form.access)?;
    for patch in &join.patches {
        let path = folder.join(&patch.file_name).map_err(invalid_path)?;
        context
            .platform
            .write(&path, &mut patch.content.as_bytes(), form)?;
    }
    Ok(Some(folder))
}

/// kubeadm finds other programs of the node in `PATH` to read their versions.
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

/// On Windows kubeadm writes to the drive of its working directory.
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
    let start = lines.len().saturating_sub(8);
    lines.get(start..).unwrap_or_default().join("\n")
}
