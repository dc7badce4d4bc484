//! Checks of `iphlpapi.dll`.
#![allow(unsafe_code, reason = "calls the Windows API as any program does")]

use std::mem::zeroed;
use std::net::Ipv4Addr;
use std::ptr::null_mut;
use std::slice;

use windows_sys::Win32::Foundation::{
    ERROR_BUFFER_OVERFLOW, ERROR_INVALID_PARAMETER, ERROR_NOT_FOUND, ERROR_OBJECT_ALREADY_EXISTS,
};
use windows_sys::Win32::NetworkManagement::IpHelper::*;
use windows_sys::Win32::NetworkManagement::Ndis::NET_LUID_LH;
use windows_sys::Win32::Networking::WinSock::{AF_INET, AF_UNSPEC, SOCKADDR_INET};

use crate::{Check, expect};

const PHYSICAL: &str = "Ethernet";
const VIRTUAL: &str = "vEthernet (Ethernet)";

pub fn names() -> Check {
    for name in [PHYSICAL, VIRTUAL] {
        let mut back = [0u16; 257];
        let luid = luid(name)?;
        // SAFETY: the buffer has the given length.
        let result = unsafe { ConvertInterfaceLuidToAlias(&luid, back.as_mut_ptr(), back.len()) };
        expect("ConvertInterfaceLuidToAlias", result, 0)?;
        expect("the alias", text(&back), name.to_owned())?;
        let mut row = MIB_IF_ROW2 {
            InterfaceLuid: luid,
            ..Default::default()
        };
        // SAFETY: a valid row.
        expect("GetIfEntry2", unsafe { GetIfEntry2(&mut row) }, 0)?;
        expect("its alias", text(&row.Alias), name.to_owned())?;
        if !friendly_names()?.iter().any(|friendly| friendly == name) {
            return Err(format!("GetAdaptersAddresses does not show {name}"));
        }
    }
    Ok(())
}

pub fn routes() -> Check {
    let mut row = route([10, 98, 0, 0], 24, [198, 18, 5, 1])?;
    row.Metric = 25;
    // SAFETY: all rows are valid.
    unsafe {
        expect("create", CreateIpForwardEntry2(&row), 0)?;
        expect(
            "create again",
            CreateIpForwardEntry2(&row),
            ERROR_OBJECT_ALREADY_EXISTS,
        )?;
        expect("the metric", metric_of(&row)?, 25)?;
        expect("routes in the table", count_in_table([10, 98, 0, 0])?, 1)?;
        row.Metric = 30;
        expect("set", SetIpForwardEntry2(&row), 0)?;
        expect("the new metric", metric_of(&row)?, 30)?;
        expect("routes in the table", count_in_table([10, 98, 0, 0])?, 1)?;
        let second = route([10, 98, 0, 0], 24, [198, 18, 5, 7])?;
        expect(
            "create with another gateway",
            CreateIpForwardEntry2(&second),
            0,
        )?;
        expect(
            "delete with another gateway",
            DeleteIpForwardEntry2(&second),
            0,
        )?;
        expect("delete", DeleteIpForwardEntry2(&row), 0)?;
        expect("delete again", DeleteIpForwardEntry2(&row), ERROR_NOT_FOUND)?;
        expect(
            "set a deleted route",
            SetIpForwardEntry2(&row),
            ERROR_NOT_FOUND,
        )?;
        expect(
            "get a deleted route",
            GetIpForwardEntry2(&mut row),
            ERROR_NOT_FOUND,
        )?;
        row.DestinationPrefix.PrefixLength = 33;
        expect(
            "prefix length 33",
            CreateIpForwardEntry2(&row),
            ERROR_INVALID_PARAMETER,
        )?;
        let on_link = route([10, 97, 0, 0], 24, [0, 0, 0, 0])?;
        expect("create on-link", CreateIpForwardEntry2(&on_link), 0)?;
        expect("delete on-link", DeleteIpForwardEntry2(&on_link), 0)?;
        let left = route([10, 99, 0, 0], 24, [198, 18, 5, 1])?;
        expect("create the route to leave", CreateIpForwardEntry2(&left), 0)
    }
}

pub fn settings() -> Check {
    let mut row = interface()?;
    // SAFETY: all rows are valid.
    unsafe {
        expect("the MTU", row.NlMtu, 1500)?;
        expect(
            "set without changes",
            SetIpInterfaceEntry(&mut row),
            ERROR_INVALID_PARAMETER,
        )?;
        row.SitePrefixLength = 0;
        row.ForwardingEnabled = true;
        row.WeakHostSend = true;
        row.UseAutomaticMetric = false;
        row.Metric = 5;
        row.NlMtu = 1450;
        expect("set", SetIpInterfaceEntry(&mut row), 0)?;
        let row = interface()?;
        let flags = (row.ForwardingEnabled, row.WeakHostSend, row.WeakHostReceive);
        expect("forwarding, weak hosts", flags, (true, true, false))?;
        expect("metric and MTU", (row.Metric, row.NlMtu), (5, 1450))?;
        let mut fresh: MIB_IPINTERFACE_ROW = zeroed();
        InitializeIpInterfaceEntry(&mut fresh);
        fresh.Family = AF_INET;
        fresh.InterfaceLuid = luid(PHYSICAL)?;
        fresh.SitePrefixLength = 0;
        fresh.NlMtu = 1500;
        expect("set one field", SetIpInterfaceEntry(&mut fresh), 0)?;
        let row = interface()?;
        let fields = (row.ForwardingEnabled, row.NlMtu, row.Metric);
        expect("that field and the others", fields, (true, 1500, 5))
    }
}

pub fn addresses() -> Check {
    // SAFETY: all rows are valid.
    unsafe {
        let mut row: MIB_UNICASTIPADDRESS_ROW = zeroed();
        InitializeUnicastIpAddressEntry(&mut row);
        row.InterfaceLuid = luid(PHYSICAL)?;
        row.Address = address([198, 18, 5, 9]);
        row.OnLinkPrefixLength = 24;
        expect("create", CreateUnicastIpAddressEntry(&row), 0)?;
        expect(
            "create again",
            CreateUnicastIpAddressEntry(&row),
            ERROR_OBJECT_ALREADY_EXISTS,
        )?;
        let mut read = row;
        expect("get", GetUnicastIpAddressEntry(&mut read), 0)?;
        expect("its prefix", read.OnLinkPrefixLength, 24)?;
        expect("delete", DeleteUnicastIpAddressEntry(&row), 0)?;
        expect(
            "delete again",
            DeleteUnicastIpAddressEntry(&row),
            ERROR_NOT_FOUND,
        )
    }
}

fn interface() -> Result<MIB_IPINTERFACE_ROW, String> {
    let mut row = MIB_IPINTERFACE_ROW {
        Family: AF_INET,
        InterfaceLuid: luid(PHYSICAL)?,
        ..Default::default()
    };
    // SAFETY: a valid row.
    expect(
        "GetIpInterfaceEntry",
        unsafe { GetIpInterfaceEntry(&mut row) },
        0,
    )?;
    Ok(row)
}

fn route(to: [u8; 4], length: u8, gateway: [u8; 4]) -> Result<MIB_IPFORWARD_ROW2, String> {
    // SAFETY: the row is filled before it is read.
    let mut row = unsafe {
        let mut row: MIB_IPFORWARD_ROW2 = zeroed();
        InitializeIpForwardEntry(&mut row);
        row
    };
    row.InterfaceLuid = luid(PHYSICAL)?;
    row.DestinationPrefix = IP_ADDRESS_PREFIX {
        Prefix: address(to),
        PrefixLength: length,
    };
    row.NextHop = address(gateway);
    row.Metric = 10;
    Ok(row)
}

fn metric_of(row: &MIB_IPFORWARD_ROW2) -> Result<u32, String> {
    let mut read = *row;
    // SAFETY: a valid row.
    expect(
        "GetIpForwardEntry2",
        unsafe { GetIpForwardEntry2(&mut read) },
        0,
    )?;
    Ok(read.Metric)
}

fn count_in_table(to: [u8; 4]) -> Result<usize, String> {
    let mut table: *mut MIB_IPFORWARD_TABLE2 = null_mut();
    // SAFETY: on success the table has `NumEntries` rows.
    unsafe {
        expect(
            "GetIpForwardTable2",
            GetIpForwardTable2(AF_UNSPEC, &mut table),
            0,
        )?;
        let first = (&raw const (*table).Table).cast::<MIB_IPFORWARD_ROW2>();
        let rows = slice::from_raw_parts(first, (*table).NumEntries as usize);
        let destination = u32::from_ne_bytes(to);
        let count = rows
            .iter()
            .filter(|row| {
                let prefix = &row.DestinationPrefix.Prefix;
                prefix.si_family == AF_INET && prefix.Ipv4.sin_addr.S_un.S_addr == destination
            })
            .count();
        FreeMibTable(table.cast());
        Ok(count)
    }
}

fn friendly_names() -> Result<Vec<String>, String> {
    let mut size = 16 * 1024;
    let mut names = Vec::new();
    // SAFETY: the buffer has the given size and is aligned for the structures.
    unsafe {
        let mut buffer: Vec<u64>;
        loop {
            buffer = vec![0; size as usize / 8];
            let list = buffer.as_mut_ptr().cast();
            match GetAdaptersAddresses(u32::from(AF_UNSPEC), 0, null_mut(), list, &mut size) {
                0 => break,
                ERROR_BUFFER_OVERFLOW => {}
                error => return Err(format!("GetAdaptersAddresses returned {error}")),
            }
        }
        let mut adapter = buffer.as_ptr().cast::<IP_ADAPTER_ADDRESSES_LH>();
        while let Some(entry) = adapter.as_ref() {
            names.push(text(slice::from_raw_parts(entry.FriendlyName, 64)));
            adapter = entry.Next;
        }
    }
    Ok(names)
}

fn luid(name: &str) -> Result<NET_LUID_LH, String> {
    let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let mut luid = NET_LUID_LH::default();
    // SAFETY: the name is NUL-terminated.
    let result = unsafe { ConvertInterfaceAliasToLuid(name.as_ptr(), &mut luid) };
    expect("ConvertInterfaceAliasToLuid", result, 0)?;
    Ok(luid)
}

fn address(octets: [u8; 4]) -> SOCKADDR_INET {
    let mut address = SOCKADDR_INET::default();
    // The IPv4 variant of the union; the address is in network byte order.
    let bits = u32::from_ne_bytes(Ipv4Addr::from(octets).octets());
    address.Ipv4.sin_family = AF_INET;
    address.Ipv4.sin_addr.S_un.S_addr = bits;
    address
}

fn text(units: &[u16]) -> String {
    let end = units.iter().position(|&unit| unit == 0);
    String::from_utf16_lossy(&units[..end.unwrap_or(units.len())])
}
