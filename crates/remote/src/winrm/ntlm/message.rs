//! Encoding of NTLM messages (MS-NLMP 2.2).

pub(crate) mod flags {
    pub(crate) const UNICODE: u32 = 0x0000_0001;
    pub(crate) const REQUEST_TARGET: u32 = 0x0000_0004;
    pub(crate) const SIGN: u32 = 0x0000_0010;
    pub(crate) const SEAL: u32 = 0x0000_0020;
    pub(crate) const NTLM: u32 = 0x0000_0200;
    pub(crate) const ALWAYS_SIGN: u32 = 0x0000_8000;
    pub(crate) const EXTENDED_SECURITY: u32 = 0x0008_0000;
    pub(crate) const TARGET_INFO: u32 = 0x0080_0000;
    pub(crate) const VERSION: u32 = 0x0200_0000;
    pub(crate) const BITS_128: u32 = 0x2000_0000;
    pub(crate) const KEY_EXCHANGE: u32 = 0x4000_0000;
    pub(crate) const BITS_56: u32 = 0x8000_0000;

    pub(crate) const OURS: u32 = UNICODE
        | REQUEST_TARGET
        | SIGN
        | SEAL
        | NTLM
        | ALWAYS_SIGN
        | EXTENDED_SECURITY
        | TARGET_INFO
        | VERSION
        | BITS_128
        | KEY_EXCHANGE
        | BITS_56;

    /// Required for sealing.
    pub(crate) const NEEDED: u32 =
        UNICODE | SIGN | SEAL | EXTENDED_SECURITY | BITS_128 | KEY_EXCHANGE;
}

/// Windows 10, build 17763, NTLM revision 15; servers only log it.
pub(crate) const VERSION: [u8; 8] = [10, 0, 0x63, 0x45, 0, 0, 0, 15];

/// AV pair ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pair {
    End = 0,
    Flags = 6,
    Time = 7,
    ServiceName = 9,
    ChannelBinding = 10,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the response is not an NTLM challenge")]
pub(crate) struct Malformed;

#[derive(Debug, Clone)]
pub(crate) struct Challenge {
    pub(crate) bytes: Vec<u8>,
    pub(crate) flags: u32,
    pub(crate) challenge: [u8; 8],
    pub(crate) pairs: Vec<(u16, Vec<u8>)>,
}

impl Challenge {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.get(..12) != Some(b"NTLMSSP\0\x02\0\0\0") {
            return Err(Malformed);
        }
        let read_u32 = |at: usize| -> Result<u32, Malformed> {
            let bytes = bytes.get(at..at + 4).ok_or(Malformed)?;
            Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| Malformed)?))
        };
        let challenge = bytes.get(24..32).ok_or(Malformed)?;
        let challenge = challenge.try_into().map_err(|_| Malformed)?;
        Ok(Self {
            flags: read_u32(20)?,
            challenge,
            pairs: read_pairs(field(bytes, 40).ok_or(Malformed)?)?,
            bytes: bytes.to_vec(),
        })
    }

    /// The server's clock, in units of 100 ns since 1601.
    pub(crate) fn time(&self) -> Option<u64> {
        let (_, value) = self.pairs.iter().find(|(id, _)| *id == Pair::Time as u16)?;
        Some(u64::from_le_bytes(value.as_slice().try_into().ok()?))
    }
}

/// The payload field whose length and offset are at `at`.
pub(crate) fn field(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let length = u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
    let start = u32::from_le_bytes(bytes.get(at + 4..at + 8)?.try_into().ok()?);
    let start = usize::try_from(start).ok()?;
    bytes.get(start..start.checked_add(usize::from(length))?)
}

pub(crate) fn read_pairs(mut bytes: &[u8]) -> Result<Vec<(u16, Vec<u8>)>, Malformed> {
    let mut pairs = Vec::new();
    loop {
        let [a, b, c, d, rest @ ..] = bytes else {
            return Err(Malformed);
        };
        let id = u16::from_le_bytes([*a, *b]);
        let length = usize::from(u16::from_le_bytes([*c, *d]));
        if id == Pair::End as u16 {
            return Ok(pairs);
        }
        let (value, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
        pairs.push((id, value.to_vec()));
        bytes = rest;
    }
}

pub(crate) fn put_pair(pairs: &mut Vec<u8>, id: u16, value: &[u8]) {
    // The longest value is a name; longer ones cannot be encoded.
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    pairs.extend_from_slice(&id.to_le_bytes());
    pairs.extend_from_slice(&length.to_le_bytes());
    pairs.extend(value.iter().take(usize::from(length)));
}

/// The payload after the fixed part of a message.
pub(crate) struct Fields {
    start: usize,
    pub(crate) payload: Vec<u8>,
}

impl Fields {
    pub(crate) fn after(start: usize) -> Self {
        Self {
            start,
            payload: Vec::new(),
        }
    }

    /// Adds a value; returns its length, maximum length and offset.
    pub(crate) fn put(&mut self, value: &[u8]) -> [u8; 8] {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        let offset = u32::try_from(self.start + self.payload.len()).unwrap_or(u32::MAX);
        self.payload.extend(value.iter().take(usize::from(length)));
        let [a, b] = length.to_le_bytes();
        let [e, f, g, h] = offset.to_le_bytes();
        [a, b, a, b, e, f, g, h]
    }
}

/// The client's first message: its flags, without names.
pub(crate) fn negotiate() -> Vec<u8> {
    let mut message = b"NTLMSSP\0\x01\0\0\0".to_vec();
    message.extend_from_slice(&flags::OURS.to_le_bytes());
    message.extend_from_slice(&[0; 16]);
    message.extend_from_slice(&VERSION);
    message
}
