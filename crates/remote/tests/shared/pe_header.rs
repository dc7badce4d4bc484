//! Minimal PE headers: just enough to tell the architecture.

pub fn x86_64() -> Vec<u8> {
    let mut program = vec![0; 0x90];
    program[..2].copy_from_slice(b"MZ");
    program[0x3c] = 0x80;
    program[0x80..0x86].copy_from_slice(b"PE\0\0\x64\x86");
    program
}
