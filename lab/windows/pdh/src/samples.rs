//! Reads the current values from the system.

use std::mem::zeroed;
use std::ptr::null_mut;

use windows_sys::Wdk::System::SystemInformation::{
    NtQuerySystemInformation, SystemProcessInformation,
};
use windows_sys::Win32::Foundation::{FILETIME, STATUS_INFO_LENGTH_MISMATCH};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    FreeMibTable, GetIfTable2, IF_TYPE_SOFTWARE_LOOPBACK, MIB_IF_ROW2, MIB_IF_TABLE2,
};
use windows_sys::Win32::System::ProcessStatus::{GetPerformanceInfo, PERFORMANCE_INFORMATION};
use windows_sys::Win32::System::Threading::GetSystemTimes;
use windows_sys::Win32::System::WindowsProgramming::SYSTEM_PROCESS_INFORMATION;

use crate::counter::AdapterCounter;

/// Sum over all processors since boot, in units of 100 ns.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessorTimes {
    pub idle: u64,
    pub total: u64,
}

/// The value of one adapter since its start.
#[derive(Debug, Clone)]
pub struct AdapterTotal {
    /// The description of the adapter, which Windows uses as the instance name.
    pub adapter: Vec<u16>,
    pub total: u64,
}

/// Zeros if the call fails.
pub fn processor_times() -> ProcessorTimes {
    // SAFETY: three valid out pointers.
    let (idle, kernel, user) = unsafe {
        let (mut idle, mut kernel, mut user): (FILETIME, FILETIME, FILETIME) = zeroed();
        GetSystemTimes(&mut idle, &mut kernel, &mut user);
        (ticks(idle), ticks(kernel), ticks(user))
    };
    // Kernel time contains idle time.
    ProcessorTimes {
        idle,
        total: kernel + user,
    }
}

/// Working set of all processes on the host, in bytes.
pub fn working_set() -> u64 {
    let buffer = processes();
    let mut sum = 0;
    let mut offset = 0;
    while let Some(bytes) = buffer.get(offset..offset + size_of::<SYSTEM_PROCESS_INFORMATION>()) {
        // SAFETY: the bytes are one such structure, possibly unaligned.
        let process = unsafe {
            bytes
                .as_ptr()
                .cast::<SYSTEM_PROCESS_INFORMATION>()
                .read_unaligned()
        };
        sum += process.WorkingSetSize as u64;
        match process.NextEntryOffset {
            0 => break,
            next => offset += next as usize,
        }
    }
    sum
}

pub fn committed_bytes() -> u64 {
    // SAFETY: the size is that of the structure.
    let info = unsafe {
        let mut info: PERFORMANCE_INFORMATION = zeroed();
        let size = size_of::<PERFORMANCE_INFORMATION>() as u32;
        info.cb = size;
        GetPerformanceInfo(&mut info, size);
        info
    };
    (info.CommitTotal * info.PageSize) as u64
}

/// All adapters except loopback.
pub fn adapters(counter: AdapterCounter) -> Vec<AdapterTotal> {
    let mut table: *mut MIB_IF_TABLE2 = null_mut();
    // SAFETY: on success the table has `NumEntries` rows and is valid until freed.
    unsafe {
        if GetIfTable2(&mut table) != 0 || table.is_null() {
            return Vec::new();
        }
        let first = (&raw const (*table).Table).cast::<MIB_IF_ROW2>();
        let rows = std::slice::from_raw_parts(first, (*table).NumEntries as usize);
        let totals = rows
            .iter()
            .filter(|row| row.Type != IF_TYPE_SOFTWARE_LOOPBACK)
            .map(|row| AdapterTotal {
                adapter: row
                    .Description
                    .iter()
                    .copied()
                    .take_while(|&unit| unit != 0)
                    .collect(),
                total: total(row, counter),
            })
            .collect();
        FreeMibTable(table.cast());
        totals
    }
}

fn total(row: &MIB_IF_ROW2, counter: AdapterCounter) -> u64 {
    match counter {
        AdapterCounter::PacketsReceived => row.InUcastPkts + row.InNUcastPkts,
        AdapterCounter::PacketsSent => row.OutUcastPkts + row.OutNUcastPkts,
        AdapterCounter::BytesReceived => row.InOctets,
        AdapterCounter::BytesSent => row.OutOctets,
        AdapterCounter::ReceivedDiscarded => row.InDiscards,
        AdapterCounter::ReceivedErrors => row.InErrors,
        AdapterCounter::OutboundDiscarded => row.OutDiscards,
        AdapterCounter::OutboundErrors => row.OutErrors,
    }
}

fn processes() -> Vec<u8> {
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let mut needed = 0;
        // SAFETY: the length is that of the buffer.
        let status = unsafe {
            NtQuerySystemInformation(
                SystemProcessInformation,
                buffer.as_mut_ptr().cast(),
                buffer.len() as u32,
                &mut needed,
            )
        };
        match status {
            STATUS_INFO_LENGTH_MISMATCH => buffer.resize(2 * buffer.len(), 0),
            0 => return buffer,
            _ => return Vec::new(),
        }
    }
}

fn ticks(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}
