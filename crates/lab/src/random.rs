//! Random text for names and tokens.

use rustix::rand::{GetRandomFlags, getrandom};

use crate::problem::{self, Result};

/// `N` random bytes as `2 * N` hexadecimal digits.
pub fn hex<const N: usize>() -> Result<String> {
    let mut bytes = [0_u8; N];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|error| problem::internal("get random bytes from the kernel", &error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
