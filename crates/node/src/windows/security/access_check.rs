//! Evaluation of access lists.
#![allow(unsafe_code, reason = "access lists of the Windows API")]

use std::path::Path;
use std::ptr;

use casement_resource::{AccessFacts, Code, Failure};
use windows_sys::Win32::Foundation::{GENERIC_ALL, GENERIC_WRITE};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, GetAce, INHERIT_ONLY_ACE, INHERITED_ACE,
};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_APPEND_DATA, FILE_DELETE_CHILD, FILE_WRITE_DATA, WRITE_DAC, WRITE_OWNER,
};
use windows_sys::Win32::System::SystemServices::{ACCESS_ALLOWED_ACE_TYPE, ACCESS_DENIED_ACE_TYPE};

use super::{Descriptor, login_sid, sid_text};
use crate::windows::failure;

const SYSTEM: &str = "S-1-5-18";
const ADMINISTRATORS: &str = "S-1-5-32-544";
/// Owns the system directories.
const TRUSTED_INSTALLER: &str = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464";
/// Placeholder SIDs for the owner, who is checked separately.
const CREATOR_OWNER: &str = "S-1-3-0";
const OWNER_RIGHTS: &str = "S-1-3-4";

/// Rights that allow replacing a program.
const REPLACE_RIGHTS: u32 = DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_ALL | GENERIC_WRITE;

/// An access control entry.
struct Entry {
    allows: bool,
    inherited: bool,
    inherit_only: bool,
    mask: u32,
    sid: String,
}

/// Administrators only means: access for SYSTEM, Administrators and the login
/// account, and no inherited entry.
pub fn access_facts(path: &Path) -> Result<AccessFacts, Failure> {
    let descriptor = Descriptor::of(path)?;
    let login = login_sid()?;
    let owner = descriptor.owner()?;
    let trusted = |sid: &str| sid == SYSTEM || sid == ADMINISTRATORS || sid == login;
    let entries = entries(&descriptor)?;
    let restricted = entries.is_some_and(|entries| {
        entries
            .iter()
            .all(|entry| !entry.inherited && (!entry.allows || trusted(&entry.sid)))
    });
    Ok(AccessFacts {
        administrators_only: restricted && trusted(&owner),
        owner_trusted: trusted(&owner),
        descriptor: descriptor.sddl()?,
    })
}

/// Rejects a program that others could have planted or could replace; checks the
/// file and all parent directories.
pub fn check_program(path: &Path) -> Result<(), Failure> {
    // A new file in the directory of the program could be a DLL that it loads.
    let rights = REPLACE_RIGHTS | FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD;
    for checked in path.ancestors().take(2) {
        check(path, checked, rights)?;
    }
    check_parent_dirs(path)
}

/// Rejects a path if others own, or may move or replace, one of its parent
/// directories. That others may create entries there is harmless.
pub fn check_parent_dirs(path: &Path) -> Result<(), Failure> {
    let dirs = path.ancestors().skip(1);
    let mut dirs = dirs.filter(|dir| !dir.as_os_str().is_empty() && dir.exists());
    dirs.try_for_each(|dir| check(path, dir, REPLACE_RIGHTS | FILE_DELETE_CHILD))
}

fn check(path: &Path, checked: &Path, dangerous: u32) -> Result<(), Failure> {
    let login = login_sid()?;
    let trusted = |sid: &str| [SYSTEM, ADMINISTRATORS, TRUSTED_INSTALLER, &login].contains(&sid);
    let descriptor = Descriptor::of(checked)?;
    let owner = descriptor.owner()?;
    let untrusted = match entries(&descriptor)? {
        None => Some("everyone".to_owned()),
        Some(_) if !trusted(&owner) => Some(owner),
        Some(entries) => entries
            .into_iter()
            .find(|entry| {
                entry.allows
                    && !entry.inherit_only
                    && entry.mask & dangerous != 0
                    && !trusted(&entry.sid)
                    && entry.sid != CREATOR_OWNER
                    && entry.sid != OWNER_RIGHTS
            })
            .map(|entry| entry.sid),
    };
    let Some(untrusted) = untrusted else {
        return Ok(());
    };
    Err(Failure::new(
        Code::Untrusted,
        format!(
            "`{}` is not trusted: other accounts may change `{}`",
            path.display(),
            checked.display()
        ),
        "remove that permission (icacls shows it), then run `casement apply` again",
    )
    .values(
        "SYSTEM, Administrators and the login account only",
        untrusted,
    ))
}

/// `None` without an access list, which means full access for everyone.
fn entries(descriptor: &Descriptor) -> Result<Option<Vec<Entry>>, Failure> {
    let acl = descriptor.dacl()?;
    // SAFETY: null, or a list inside the descriptor.
    let Some(header) = (unsafe { acl.as_ref() }) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for index in 0..u32::from(header.AceCount) {
        let mut ace = ptr::null_mut();
        // SAFETY: the list, a valid index, and a writable pointer.
        if unsafe { GetAce(acl, index, &mut ace) } == 0 {
            return Err(failure::last_error("read an access list"));
        }
        // SAFETY: every entry begins with a header.
        let header = unsafe { *ace.cast::<ACE_HEADER>() };
        let kind = u32::from(header.AceType);
        let flags = u32::from(header.AceFlags);
        let (mask, sid) = if kind == ACCESS_ALLOWED_ACE_TYPE || kind == ACCESS_DENIED_ACE_TYPE {
            // SAFETY: both types have this layout; the SID starts in the last field
            // and is within the entry.
            unsafe {
                let line = ace.cast::<ACCESS_ALLOWED_ACE>();
                ((*line).Mask, sid_text((&raw mut (*line).SidStart).cast())?)
            }
        } else {
            // An unusual entry type for files: not trusted.
            (u32::MAX, format!("an entry of type {kind}"))
        };
        found.push(Entry {
            allows: kind != ACCESS_DENIED_ACE_TYPE,
            inherited: flags & INHERITED_ACE != 0,
            inherit_only: flags & INHERIT_ONLY_ACE != 0,
            mask,
            sid,
        });
    }
    Ok(Some(found))
}
