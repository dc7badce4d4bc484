//! The architecture of an executable, from the header of an ELF (Linux) or PE (Windows)
//! file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// In the form of `uname -m`; `None` for other formats and architectures.
pub(super) fn architecture(path: &Path) -> Option<&'static str> {
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(1024).read_to_end(&mut head))
        .ok()?;
    parse_header(&head)
}

fn parse_header(head: &[u8]) -> Option<&'static str> {
    let read_u16 = |at: usize| Some(u16::from_le_bytes([*head.get(at)?, *head.get(at + 1)?]));
    if head.starts_with(b"\x7fELF") {
        return match read_u16(18)? {
            62 => Some("x86_64"),
            183 => Some("aarch64"),
            _ => None,
        };
    }
    if !head.starts_with(b"MZ") {
        return None;
    }
    let at = usize::from(read_u16(0x3c)?);
    if head.get(at..at + 4)? != b"PE\0\0" {
        return None;
    }
    match read_u16(at + 4)? {
        0x8664 => Some("x86_64"),
        0xaa64 => Some("aarch64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elf_and_pe_headers_name_the_architecture() {
        let mut elf = b"\x7fELF".to_vec();
        elf.resize(64, 0);
        elf[18] = 183;
        assert_eq!(parse_header(&elf), Some("aarch64"));
        let mut pe = b"MZ".to_vec();
        pe.resize(0x90, 0);
        pe[0x3c] = 0x80;
        pe[0x80..0x86].copy_from_slice(b"PE\0\0\x64\x86");
        assert_eq!(parse_header(&pe), Some("x86_64"));
        for other in [&b""[..], b"MZ", b"\x7fELF", b"simulated program"] {
            assert_eq!(parse_header(other), None);
        }
    }

    #[test]
    fn test_program_has_the_architecture_it_was_built_for() {
        let program = std::env::current_exe().unwrap();
        assert_eq!(architecture(&program), Some(std::env::consts::ARCH));
    }
}
