//! `windowsUpdate`.
//!
//! Runs the Windows installer for `.msu` files as SYSTEM, like the service; it refuses
//! to run in a network logon. The registry records the boot in which an update was
//! installed if it needs a reboot, else 0.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::{
    Code, Diff, Failure, HostPath, Prior, RegistryData, Resource, UpdateInstalled, WindowsUpdate,
    WindowsUpdateFacts, WindowsVersion,
};

use super::registry::{delete_created_keys, missing_keys, restore_value};
use super::{Kind, KindContext, invalid_path, wrong_prior};
use crate::platform::{Program, Result};

const KEY: &str = r"SOFTWARE\casement\updates";
const INSTALLER: &str = r"C:\Windows\System32\wusa.exe";
const SYSTEM_FOLDER: &str = r"C:\Windows\System32";
/// `ERROR_SUCCESS_REBOOT_REQUIRED`.
const REBOOT_REQUIRED: i32 = 3010;
/// `WU_S_ALREADY_INSTALLED`.
const ALREADY_INSTALLED: i32 = 0x0024_0006;
/// `WU_E_NOT_APPLICABLE`.
const NOT_APPLICABLE: i32 = 0x8024_0017_u32.cast_signed();

impl Kind for WindowsUpdate {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let facts = WindowsUpdateFacts {
            version: context.platform.facts()?.version,
            installed: installed(&self.article, context)?,
        };
        let diff = self.diff(&facts);
        if !diff.in_sync() && self.package.is_none() {
            return Err(missing(self, &facts.version));
        }
        Ok(diff)
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::RegistryValue {
            missing_keys: missing_keys(context, KEY)?,
            data: context.platform.registry_value(KEY, &self.article)?,
        })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let Some(package) = &self.package else {
            return Err(missing(self, &context.platform.facts()?.version));
        };
        let boot = match install(self, package, context)? {
            REBOOT_REQUIRED => context.platform.boot()?,
            _ => 0,
        };
        let pending = RegistryData::Number(boot);
        context
            .platform
            .set_registry_value(KEY, &self.article, &pending)
    }

    /// The update itself is not uninstalled: other software may need it by now.
    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::RegistryValue { missing_keys, data } = prior else {
            return Err(wrong_prior("a Windows update", prior));
        };
        restore_value(context, KEY, &self.article, data.as_ref())?;
        delete_created_keys(context, missing_keys)
    }
}

pub(super) fn installed(article: &str, context: &KindContext<'_>) -> Result<UpdateInstalled> {
    Ok(match context.platform.registry_value(KEY, article)? {
        None => UpdateInstalled::Not,
        Some(RegistryData::Number(boot)) if boot != 0 && boot == context.platform.boot()? => {
            UpdateInstalled::AfterBoot
        }
        Some(_) => UpdateInstalled::Done,
    })
}

fn install(update: &WindowsUpdate, package: &HostPath, context: &KindContext<'_>) -> Result<i32> {
    let exit = context.platform.run(&Program {
        arguments: [INSTALLER, package.as_str(), "/quiet", "/norestart"]
            .map(str::to_owned)
            .to_vec(),
        environment: BTreeMap::new(),
        working_dir: SYSTEM_FOLDER.parse().map_err(invalid_path)?,
        timeout: Duration::from_secs(u64::from(update.timeout_seconds)),
    })?;
    let article = &update.article;
    let how = match exit.code {
        Some(code @ (0 | REBOOT_REQUIRED | ALREADY_INSTALLED)) => return Ok(code),
        Some(NOT_APPLICABLE) => {
            "failed: the update does not apply to this Windows version".to_owned()
        }
        Some(code) => format!("failed with exit code {code:#x}"),
        None => format!("timed out after {} s", update.timeout_seconds),
    };
    Err(Failure::new(
        Code::ProgramFailed,
        format!("the installer of {article} {how}"),
        "fix the error in the event log `Setup`, then run `casement apply` again",
    )
    .values(article, format!("`{package}`")))
}

fn missing(update: &WindowsUpdate, version: &str) -> Failure {
    let article = &update.article;
    let floor = WindowsVersion::read(version).and_then(|version| {
        let revision = update.floor(version)?.revision;
        Some(WindowsVersion {
            revision,
            ..version
        })
    });
    let wanted = floor.map_or_else(|| article.clone(), |floor| format!("{floor} or later"));
    Failure::new(
        Code::ActionRequired,
        format!("the update {article} is not installed"),
        format!(
            "install {article} or a later cumulative update, or add its .msu file to \
             `windows.updates`"
        ),
    )
    .values(wanted, version)
}
