//! Checks of `pdh.dll`.
#![allow(unsafe_code, reason = "calls the Windows API as any program does")]

use std::ptr::null;
use std::thread::sleep;
use std::time::Duration;

use windows_sys::Win32::System::Performance::{
    PDH_CSTATUS_NO_COUNTER, PDH_FMT_COUNTERVALUE_ITEM_W, PDH_FMT_DOUBLE, PDH_HCOUNTER, PDH_HQUERY,
    PDH_MORE_DATA, PdhAddEnglishCounterW, PdhCloseQuery, PdhCollectQueryData,
    PdhGetFormattedCounterArrayW, PdhOpenQueryW,
};

use crate::{Check, expect};

const MEGABYTE: f64 = 1024.0 * 1024.0;

pub fn plausible() -> Check {
    let cpu = values(r"\Processor(_Total)\% Processor Time")?;
    within("processor time", &cpu, 0.0, 100.0)?;
    let memory = values(r"\Process(_Total)\Working Set - Private")?;
    within("working set", &memory, MEGABYTE, f64::MAX)?;
    let committed = values(r"\Memory\Committed Bytes")?;
    within("committed bytes", &committed, MEGABYTE, f64::MAX)?;
    for counter in [
        "Bytes Received/sec",
        "Packets Sent/sec",
        "Packets Received Errors",
    ] {
        let adapters = values(&format!(r"\Network Adapter(*)\{counter}"))?;
        within(counter, &adapters, 0.0, f64::MAX)?;
    }
    Ok(())
}

pub fn unknown() -> Check {
    let result = query(|query| {
        let mut counter: PDH_HCOUNTER = Default::default();
        let path: Vec<u16> = r"\Nothing\At All".encode_utf16().chain([0]).collect();
        // SAFETY: the path is NUL-terminated.
        Ok(unsafe { PdhAddEnglishCounterW(query, path.as_ptr(), 0, &mut counter) })
    })?;
    expect("the result", result, PDH_CSTATUS_NO_COUNTER)
}

/// Reads a counter twice, as the kubelet does.
fn values(path: &str) -> Result<Vec<f64>, String> {
    query(|query| {
        let mut counter: PDH_HCOUNTER = Default::default();
        let path: Vec<u16> = path.encode_utf16().chain([0]).collect();
        let (mut size, mut count) = (0, 0);
        // SAFETY: the path is NUL-terminated, and `size` is the size of the buffer.
        unsafe {
            let result = PdhAddEnglishCounterW(query, path.as_ptr(), 0, &mut counter);
            expect("PdhAddEnglishCounterW", result, 0)?;
            expect("PdhCollectQueryData", PdhCollectQueryData(query), 0)?;
            sleep(Duration::from_millis(200));
            expect("PdhCollectQueryData", PdhCollectQueryData(query), 0)?;
            let mut empty = PDH_FMT_COUNTERVALUE_ITEM_W::default();
            let mut read = |items| {
                PdhGetFormattedCounterArrayW(counter, PDH_FMT_DOUBLE, &mut size, &mut count, items)
            };
            expect("the first call", read(&mut empty), PDH_MORE_DATA)?;
            let mut items = vec![0u64; 4096];
            size = (8 * items.len()) as u32;
            let mut read = |items| {
                PdhGetFormattedCounterArrayW(counter, PDH_FMT_DOUBLE, &mut size, &mut count, items)
            };
            expect("the second call", read(items.as_mut_ptr().cast()), 0)?;
            let first = items.as_ptr().cast::<PDH_FMT_COUNTERVALUE_ITEM_W>();
            let items = std::slice::from_raw_parts(first, count as usize);
            Ok(items
                .iter()
                .map(|item| item.FmtValue.Anonymous.doubleValue)
                .collect())
        }
    })
}

fn query<T>(action: impl FnOnce(PDH_HQUERY) -> Result<T, String>) -> Result<T, String> {
    let mut query: PDH_HQUERY = Default::default();
    // SAFETY: a valid out pointer.
    expect(
        "PdhOpenQueryW",
        unsafe { PdhOpenQueryW(null(), 0, &mut query) },
        0,
    )?;
    let result = action(query);
    // SAFETY: opened above.
    expect("PdhCloseQuery", unsafe { PdhCloseQuery(query) }, 0)?;
    result
}

fn within(what: &str, values: &[f64], min: f64, max: f64) -> Check {
    if values.is_empty() || !values.iter().all(|value| (min..=max).contains(value)) {
        return Err(format!("{what}: {values:?}"));
    }
    Ok(())
}
