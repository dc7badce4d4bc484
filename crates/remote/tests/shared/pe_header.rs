//! Programs of Windows, as much of them as says which processor they are for.

/// For x86_64.
pub fn for_x86_64() -> Vec<u8> {
    let mut program = vec![0; 0x90];
    program[..2].copy_from_slice(b"MZ");
    program[0x3c] = 0x80;
    program[0x80..0x86].copy_from_slice(b"PE\0\0\x64\x86");
    program
}
