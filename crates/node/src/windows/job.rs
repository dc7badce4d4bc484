//! Groups of processes that end together.
#![allow(unsafe_code, reason = "job objects of the Windows API")]

use std::mem;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::Child;
use std::ptr;

use casement_resource::Failure;
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject, TerminateJobObject,
};

use super::failure::last;

/// Whom a job holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The process and all that it starts.
    Tree,
    /// The process alone. What it starts goes its own way: containers outlive
    /// a restart of containerd.
    Process,
}

/// A job. When it is dropped, even by the end of this process, those in it are
/// ended.
#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    /// A job without anybody in it.
    pub fn new(scope: Scope) -> Result<Self, Failure> {
        // SAFETY: neither attributes nor a name.
        let handle = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if handle.is_null() {
            return Err(last("make a job object"));
        }
        // SAFETY: just made, and closed only by this owner.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(handle) });
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
            | match scope {
                Scope::Tree => 0,
                Scope::Process => JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK,
            };
        // SAFETY: an open job, and limits of the type and size named.
        let set = unsafe {
            SetInformationJobObject(
                job.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                u32::try_from(mem::size_of_val(&limits)).unwrap_or(u32::MAX),
            )
        };
        if set == 0 {
            return Err(last("set the limits of a job object"));
        }
        Ok(job)
    }

    /// Puts a process into it.
    pub fn take(&self, child: &Child) -> Result<(), Failure> {
        // SAFETY: two open handles.
        match unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), child.as_raw_handle()) } {
            0 => Err(last("put a process into a job object")),
            _ => Ok(()),
        }
    }

    /// Ends everybody in it, at once.
    pub fn end(&self) {
        // SAFETY: an open job. Who has ended already cannot be ended.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}
