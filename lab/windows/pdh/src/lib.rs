//! `pdh.dll` for the lab's Windows hosts: the performance counters that the
//! kubelet reads.
//!
//! Wine's library has two counters; the kubelet needs eleven and does not start
//! without them. This library has the functions that the kubelet's PDH package
//! resolves, and these counters with real values: processor time and committed
//! memory of the machine that runs the lab, memory of the host's processes,
//! traffic of the host's adapters.
//!
//! * [`counter`]: parses paths such as `\Memory\Committed Bytes`,
//! * [`samples`]: reads the values,
//! * [`queries`]: open queries and their counters,
//! * this file: the exported functions.
#![cfg(windows)]
#![allow(unsafe_code, reason = "a DLL of C functions over the Windows API")]

mod counter;
mod queries;
mod samples;

use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::Performance::{
    PDH_CSTATUS_NO_COUNTER, PDH_FMT_COUNTERVALUE, PDH_FMT_COUNTERVALUE_0,
    PDH_FMT_COUNTERVALUE_ITEM_W, PDH_FMT_DOUBLE, PDH_FMT_LARGE, PDH_FMT_LONG, PDH_INVALID_ARGUMENT,
    PDH_INVALID_HANDLE, PDH_MORE_DATA,
};
use windows_sys::core::PCWSTR;

use counter::Counter;
use queries::{Handle, Value};

/// Log files as a data source are not supported.
///
/// # Safety
///
/// `query` must be valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PdhOpenQuery(_: PCWSTR, _: usize, query: *mut Handle) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { query.write(queries::open()) };
    ERROR_SUCCESS
}

/// # Safety
///
/// As for [`PdhOpenQuery`].
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PdhOpenQueryW(
    source: PCWSTR,
    user: usize,
    query: *mut Handle,
) -> u32 {
    // SAFETY: the caller's arguments.
    unsafe { PdhOpenQuery(source, user, query) }
}

#[unsafe(no_mangle)]
pub extern "system" fn PdhCloseQuery(query: Handle) -> u32 {
    status(queries::close(query))
}

/// # Safety
///
/// `path` must be NUL-terminated, `counter` valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PdhAddEnglishCounterW(
    query: Handle,
    path: PCWSTR,
    _: usize,
    counter: *mut Handle,
) -> u32 {
    // SAFETY: the caller guarantees the NUL.
    let Some(parsed) = Counter::parse(&unsafe { read_text(path) }) else {
        return PDH_CSTATUS_NO_COUNTER;
    };
    match queries::add(query, parsed) {
        Some(handle) => {
            // SAFETY: guaranteed by the caller.
            unsafe { counter.write(handle) };
            ERROR_SUCCESS
        }
        None => PDH_INVALID_HANDLE,
    }
}

/// Localized names are not supported; same as the English function.
///
/// # Safety
///
/// As for [`PdhAddEnglishCounterW`].
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PdhAddCounterW(
    query: Handle,
    path: PCWSTR,
    user: usize,
    counter: *mut Handle,
) -> u32 {
    // SAFETY: the caller's arguments.
    unsafe { PdhAddEnglishCounterW(query, path, user, counter) }
}

/// # Safety
///
/// `path` must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PdhValidatePathW(path: PCWSTR) -> u32 {
    // SAFETY: the caller guarantees the NUL.
    match Counter::parse(&unsafe { read_text(path) }) {
        Some(_) => ERROR_SUCCESS,
        None => PDH_CSTATUS_NO_COUNTER,
    }
}

/// Samples all counters of a query. Rates are computed from the last two samples.
#[unsafe(no_mangle)]
pub extern "system" fn PdhCollectQueryData(query: Handle) -> u32 {
    status(queries::collect(query))
}

/// The value of a counter without instances, or of its first instance.
///
/// # Safety
///
/// `value` must be valid for writes; `kind` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PdhGetFormattedCounterValue(
    counter: Handle,
    format: u32,
    kind: *mut u32,
    value: *mut PDH_FMT_COUNTERVALUE,
) -> u32 {
    let Some(values) = queries::values(counter) else {
        return PDH_INVALID_HANDLE;
    };
    let number = values.first().map_or(0.0, |first| first.number);
    let Some(formatted) = format_value(number, format) else {
        return PDH_INVALID_ARGUMENT;
    };
    // SAFETY: guaranteed by the caller.
    unsafe {
        if !kind.is_null() {
            kind.write(0);
        }
        value.write(formatted);
    }
    ERROR_SUCCESS
}

/// All instances of a counter: the items, followed by their names. If the buffer
/// is too small, returns the required size; callers begin with that.
///
/// # Safety
///
/// `items` must be valid for writes of `*size` bytes; `size` and `count` must
/// be valid.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PdhGetFormattedCounterArrayW(
    counter: Handle,
    format: u32,
    size: *mut u32,
    count: *mut u32,
    items: *mut PDH_FMT_COUNTERVALUE_ITEM_W,
) -> u32 {
    let Some(values) = queries::values(counter) else {
        return PDH_INVALID_HANDLE;
    };
    if format_value(0.0, format).is_none() {
        return PDH_INVALID_ARGUMENT;
    }
    let names: usize = values.iter().map(|value| value.instance.len() + 1).sum();
    let needed = size_of::<PDH_FMT_COUNTERVALUE_ITEM_W>() * values.len() + 2 * names;
    // SAFETY: nothing is written beyond the caller's size.
    unsafe {
        let available = *size as usize;
        *size = needed as u32;
        *count = values.len() as u32;
        if available < needed || items.is_null() {
            return PDH_MORE_DATA;
        }
        write_items(&values, format, items);
    }
    ERROR_SUCCESS
}

unsafe fn write_items(values: &[Value], format: u32, items: *mut PDH_FMT_COUNTERVALUE_ITEM_W) {
    // SAFETY: the caller has checked the size of the buffer.
    unsafe {
        let mut name = items.add(values.len()).cast::<u16>();
        for (index, value) in values.iter().enumerate() {
            items.add(index).write(PDH_FMT_COUNTERVALUE_ITEM_W {
                szName: name,
                FmtValue: format_value(value.number, format).unwrap_or_default(),
            });
            for unit in value.instance.iter().copied().chain([0]) {
                name.write(unit);
                name = name.add(1);
            }
        }
    }
}

fn format_value(number: f64, format: u32) -> Option<PDH_FMT_COUNTERVALUE> {
    let value = if format & PDH_FMT_DOUBLE != 0 {
        PDH_FMT_COUNTERVALUE_0 {
            doubleValue: number,
        }
    } else if format & PDH_FMT_LARGE != 0 {
        PDH_FMT_COUNTERVALUE_0 {
            largeValue: number as i64,
        }
    } else if format & PDH_FMT_LONG != 0 {
        PDH_FMT_COUNTERVALUE_0 {
            longValue: number as i32,
        }
    } else {
        return None;
    };
    Some(PDH_FMT_COUNTERVALUE {
        CStatus: 0,
        Anonymous: value,
    })
}

fn status(result: Option<()>) -> u32 {
    match result {
        Some(()) => ERROR_SUCCESS,
        None => PDH_INVALID_HANDLE,
    }
}

unsafe fn read_text(units: PCWSTR) -> String {
    let mut length = 0;
    // SAFETY: the caller guarantees the NUL.
    unsafe {
        while !units.is_null() && *units.add(length) != 0 {
            length += 1;
        }
        match length {
            0 => String::new(),
            _ => String::from_utf16_lossy(std::slice::from_raw_parts(units, length)),
        }
    }
}
