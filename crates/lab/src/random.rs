//! Random text for names and tokens.

use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::problem::{self, Result};

/// `N` random bytes as `2 * N` hexadecimal digits.
pub fn hex<const N: usize>() -> Result<String> {
    let mut bytes = [0_u8; N];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|error| problem::file("read", Path::new("/dev/urandom"), &error.into()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
