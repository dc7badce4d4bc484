//! Random names.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

pub fn hex<const N: usize>() -> io::Result<String> {
    let mut bytes = [0_u8; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
