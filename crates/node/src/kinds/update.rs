//! `windowsUpdate`.
//!
//! Windows' own installer for `.msu` files runs as SYSTEM here, since the
//! service does; over a network logon it refuses. What it said is kept in the
//! registry: the boot that it waits for, or 0.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::{
    Code, Diff, Failure, HostPath, Prior, RegistryData, Resource, UpdateInstalled, WindowsUpdate,
    WindowsUpdateFacts, WindowsVersion,
};

use super::registry::{delete_made_keys, missing_keys, put_back};
use super::{Kind, Place, bad_path, wrong_prior};
use crate::platform::{Program, Result};

const KEY: &str = r"SOFTWARE\casement\updates";
const INSTALLER: &str = r"C:\Windows\System32\wusa.exe";
const SYSTEM_FOLDER: &str = r"C:\Windows\System32";
/// It is there, and waits for a reboot.
const AFTER_BOOT: i32 = 3010;
/// `WU_S_ALREADY_INSTALLED`.
const ALREADY: i32 = 0x0024_0006;
/// `WU_E_NOT_APPLICABLE`.
const NOT_APPLICABLE: i32 = 0x8024_0017_u32.cast_signed();

impl Kind for WindowsUpdate {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let facts = WindowsUpdateFacts {
            version: at.platform.facts()?.version,
            installed: installed(&self.article, at)?,
        };
        let diff = self.diff(&facts);
        if !diff.is_right() && self.package.is_none() {
            return Err(missing(self, &facts.version));
        }
        Ok(diff)
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::RegistryValue {
            missing_keys: missing_keys(at, KEY)?,
            data: at.platform.registry_value(KEY, &self.article)?,
        })
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let Some(package) = &self.package else {
            return Err(missing(self, &at.platform.facts()?.version));
        };
        let boot = match install(self, package, at)? {
            AFTER_BOOT => at.platform.boot()?,
            _ => 0,
        };
        let said = RegistryData::Number(boot);
        at.platform.set_registry_value(KEY, &self.article, &said)
    }

    /// The update stays: what has been built on it since would break.
    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::RegistryValue { missing_keys, data } = prior else {
            return Err(wrong_prior("an update of Windows", prior));
        };
        put_back(at, KEY, &self.article, data.as_ref())?;
        delete_made_keys(at, missing_keys)
    }
}

/// What the installer has left of an update.
pub(super) fn installed(article: &str, at: &Place<'_>) -> Result<UpdateInstalled> {
    Ok(match at.platform.registry_value(KEY, article)? {
        None => UpdateInstalled::Not,
        Some(RegistryData::Number(boot)) if boot != 0 && boot == at.platform.boot()? => {
            UpdateInstalled::AfterBoot
        }
        Some(_) => UpdateInstalled::Done,
    })
}

fn install(update: &WindowsUpdate, package: &HostPath, at: &Place<'_>) -> Result<i32> {
    let ended = at.platform.run(&Program {
        arguments: [INSTALLER, package.as_str(), "/quiet", "/norestart"]
            .map(str::to_owned)
            .to_vec(),
        environment: BTreeMap::new(),
        folder: SYSTEM_FOLDER.parse().map_err(bad_path)?,
        deadline: Duration::from_secs(u64::from(update.timeout_seconds)),
    })?;
    let article = &update.article;
    let how = match ended.code {
        Some(code @ (0 | AFTER_BOOT | ALREADY)) => return Ok(code),
        Some(NOT_APPLICABLE) => "says that it is not for this Windows".to_owned(),
        Some(code) => format!("ended with code {code:#x}"),
        None => format!("was ended by force after {} s", update.timeout_seconds),
    };
    Err(Failure::new(
        Code::ProgramFailed,
        format!("the installer of {article} {how}"),
        "its events are in the event log under `Setup`; mend that and apply again",
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
        Code::Needed,
        format!("this Windows does not have {article}"),
        format!(
            "install {article} or a later cumulative update, or name its .msu file in \
             `windows.updates`"
        ),
    )
    .values(wanted, version)
}
