//! Whether a descriptor keeps others out.
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
/// Owns Windows' own folders.
const TRUSTED_INSTALLER: &str = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464";
/// "Whoever owns it": as trustworthy as the owner, who is checked.
const CREATOR_OWNER: &str = "S-1-3-0";
const OWNER_RIGHTS: &str = "S-1-3-4";

/// What somebody may do to a program by these is: put another in its place.
const REPLACES: u32 = DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_ALL | GENERIC_WRITE;

/// One line of an access list.
struct Entry {
    allows: bool,
    inherited: bool,
    inherit_only: bool,
    mask: u32,
    sid: String,
}

/// Reads and judges the descriptor of a file or folder: administrators only is
/// one that lets in nobody but SYSTEM, Administrators and the login account,
/// with nothing in it from the folder above.
pub fn judge(path: &Path) -> Result<AccessFacts, Failure> {
    let descriptor = Descriptor::of(path)?;
    let login = login_sid()?;
    let owner = descriptor.owner()?;
    let trusted = |sid: &str| sid == SYSTEM || sid == ADMINISTRATORS || sid == login;
    let entries = entries(&descriptor)?;
    let closed = entries.is_some_and(|entries| {
        entries
            .iter()
            .all(|entry| !entry.inherited && (!entry.allows || trusted(&entry.sid)))
    });
    Ok(AccessFacts {
        administrators_only: closed && trusted(&owner),
        owner_trusted: trusted(&owner),
        descriptor: descriptor.sddl()?,
    })
}

/// Refuses a program that somebody else could have put there, or could swap:
/// looks at it and at every folder above it.
pub fn check_program(path: &Path) -> Result<(), Failure> {
    // In the program's own folder a new file is a DLL that it would load.
    let swaps = REPLACES | FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD;
    for place in path.ancestors().take(2) {
        check(path, place, swaps)?;
    }
    check_way(path)
}

/// Refuses a place if somebody else owns a folder on the way to it, or may move
/// or replace one; that strangers may make things there does no harm.
pub fn check_way(path: &Path) -> Result<(), Failure> {
    let folders = path.ancestors().skip(1);
    let mut folders = folders.filter(|folder| !folder.as_os_str().is_empty() && folder.exists());
    folders.try_for_each(|folder| check(path, folder, REPLACES | FILE_DELETE_CHILD))
}

fn check(path: &Path, place: &Path, dangerous: u32) -> Result<(), Failure> {
    let login = login_sid()?;
    let trusted = |sid: &str| [SYSTEM, ADMINISTRATORS, TRUSTED_INSTALLER, &login].contains(&sid);
    let descriptor = Descriptor::of(place)?;
    let owner = descriptor.owner()?;
    let stranger = match entries(&descriptor)? {
        None => Some("everybody".to_owned()),
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
    let Some(stranger) = stranger else {
        return Ok(());
    };
    Err(Failure::new(
        Code::Untrusted,
        format!(
            "`{}` cannot be trusted: others may change `{}`",
            path.display(),
            place.display()
        ),
        "take that right away (icacls shows it), then apply again",
    )
    .values(
        "SYSTEM, Administrators and the login account only",
        stranger,
    ))
}

/// The lines of the access list; none at all if there is no list, which means
/// that everybody may do everything.
fn entries(descriptor: &Descriptor) -> Result<Option<Vec<Entry>>, Failure> {
    let acl = descriptor.dacl()?;
    // SAFETY: null, or a list inside the descriptor.
    let Some(header) = (unsafe { acl.as_ref() }) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for index in 0..u32::from(header.AceCount) {
        let mut ace = ptr::null_mut();
        // SAFETY: the list, an index within it, and a place.
        if unsafe { GetAce(acl, index, &mut ace) } == 0 {
            return Err(failure::last("read an access list"));
        }
        // SAFETY: every line begins with a header.
        let header = unsafe { *ace.cast::<ACE_HEADER>() };
        let kind = u32::from(header.AceType);
        let flags = u32::from(header.AceFlags);
        let (mask, sid) = if kind == ACCESS_ALLOWED_ACE_TYPE || kind == ACCESS_DENIED_ACE_TYPE {
            // SAFETY: both kinds have this form; the SID begins in its last
            // field and lies within the line.
            unsafe {
                let line = ace.cast::<ACCESS_ALLOWED_ACE>();
                ((*line).Mask, sid_text((&raw mut (*line).SidStart).cast())?)
            }
        } else {
            // A kind of line that files do not usually have: nobody we trust.
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
