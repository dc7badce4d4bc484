//! Job objects: groups of processes that are terminated together.
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

use super::failure::last_error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The process and all its descendants.
    Tree,
    /// The process without its descendants: containers outlive a restart of
    /// containerd.
    Process,
}

/// Dropping the job, or the end of this process, terminates its processes.
#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    pub fn new(scope: Scope) -> Result<Self, Failure> {
        // SAFETY: no attributes and no name.
        let handle = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if handle.is_null() {
            return Err(last_error("create a job object"));
        }
        // SAFETY: just created, and owned by nobody else.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(handle) });
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
            | match scope {
                Scope::Tree => 0,
                Scope::Process => JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK,
            };
        // SAFETY: an open job, and limits of the given type and size.
        let set = unsafe {
            SetInformationJobObject(
                job.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                u32::try_from(mem::size_of_val(&limits)).unwrap_or(u32::MAX),
            )
        };
        if set == 0 {
            return Err(last_error("set the limits of a job object"));
        }
        Ok(job)
    }

    pub fn assign(&self, child: &Child) -> Result<(), Failure> {
        // SAFETY: two open handles.
        match unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), child.as_raw_handle()) } {
            0 => Err(last_error("assign a process to a job object")),
            _ => Ok(()),
        }
    }

    pub fn terminate(&self) {
        // SAFETY: an open job. Processes that have exited are ignored.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}
