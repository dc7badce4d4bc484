//! How a sealed message looks in HTTP (MS-WSMV 2.2.9.1).

use super::ntlm::seal::Forged;

/// What seals for one connection, once somebody is logged in.
pub(crate) trait Seals: Send {
    /// Seals the next message: its signature, and the rest of it.
    fn seal(&mut self, message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), NotSealed>;

    /// Opens the next message of the other side.
    fn open(&mut self, signature: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Forged>;
}

/// A login that is over, and seals no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message could not be sealed")]
pub(crate) struct NotSealed;

/// The type of a sealed body.
pub(crate) const CONTENT_TYPE: &str = r#"multipart/encrypted;protocol="application/HTTP-SPNEGO-session-encrypted";boundary="Encrypted Boundary""#;

const BOUNDARY: &[u8] = b"--Encrypted Boundary";
const OCTETS: &[u8] = b"Content-Type: application/octet-stream\r\n";

/// A sealed body that cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenError {
    /// It is not laid out as one.
    #[error("a sealed message is not laid out as one")]
    Layout,
    /// Its signature or its length is not right.
    #[error(transparent)]
    Forged(#[from] Forged),
}

/// Seals an envelope.
pub(crate) fn pack(sealing: &mut dyn Seals, envelope: &[u8]) -> Result<Vec<u8>, NotSealed> {
    let (signature, sealed) = sealing.seal(envelope)?;
    let head = format!(
        "--Encrypted Boundary\r\n\tContent-Type: application/HTTP-SPNEGO-session-encrypted\r\n\
         \tOriginalContent: type=application/soap+xml;charset=UTF-8;Length={}\r\n\
         --Encrypted Boundary\r\n\tContent-Type: application/octet-stream\r\n",
        envelope.len()
    );
    let length = u32::try_from(signature.len()).unwrap_or_default();
    let mut body = head.into_bytes();
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(&signature);
    body.extend_from_slice(&sealed);
    body.extend_from_slice(b"--Encrypted Boundary--\r\n");
    Ok(body)
}

/// Opens a sealed body. Its parts are found by their headers and the last
/// boundary: sealed bytes may look like one, and may be longer than what they are
/// of.
pub(crate) fn unpack(sealing: &mut dyn Seals, body: &[u8]) -> Result<Vec<u8>, OpenError> {
    let length = original_length(body).ok_or(OpenError::Layout)?;
    let at = position(body, OCTETS).ok_or(OpenError::Layout)? + OCTETS.len();
    let rest = body.get(at..).ok_or(OpenError::Layout)?;
    let (signature_length, rest) = rest.split_at_checked(4).ok_or(OpenError::Layout)?;
    let signature_length = signature_length.try_into().map_err(|_| OpenError::Layout)?;
    let signature_length = u32::from_le_bytes(signature_length);
    let signature_length = usize::try_from(signature_length).map_err(|_| OpenError::Layout)?;
    let (signature, rest) = rest
        .split_at_checked(signature_length)
        .ok_or(OpenError::Layout)?;
    let end = rest.windows(BOUNDARY.len()).rposition(|it| it == BOUNDARY);
    let sealed = end.and_then(|end| rest.get(..end));
    let message = sealing.open(signature, sealed.ok_or(OpenError::Layout)?)?;
    match message.len() == length {
        true => Ok(message),
        false => Err(OpenError::Layout),
    }
}

fn original_length(body: &[u8]) -> Option<usize> {
    let name = b"Length=";
    let start = position(body, name)? + name.len();
    let digits = body.get(start..)?;
    let digits = digits.split(|byte| !byte.is_ascii_digit()).next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn position(body: &[u8], part: &[u8]) -> Option<usize> {
    body.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::super::ntlm::seal::{Sealing, Side};
    use super::*;

    fn sides() -> (Sealing, Sealing) {
        let key = [3; 16];
        (
            Sealing::new(&key, Side::Client),
            Sealing::new(&key, Side::Server),
        )
    }

    #[test]
    fn what_is_packed_is_sealed_and_comes_out_again() {
        let (mut client, mut server) = sides();
        for envelope in ["<a>one</a>", "", "<b>--Encrypted Boundary--\r\n</b>"] {
            let body = pack(&mut client, envelope.as_bytes()).unwrap();
            let seen = String::from_utf8_lossy(&body).into_owned();
            assert!(envelope.is_empty() || !seen.contains(envelope));
            assert_eq!(unpack(&mut server, &body).unwrap(), envelope.as_bytes());
        }
    }

    #[test]
    fn a_damaged_body_is_no_message() {
        let body = pack(&mut sides().0, b"<a>one</a>").unwrap();
        for length in 0..body.len() - 4 {
            assert!(unpack(&mut sides().1, &body[..length]).is_err(), "{length}");
        }
        let mut changed = body.clone();
        let last = body.len() - 30;
        changed[last] ^= 1;
        let opened = unpack(&mut sides().1, &changed);
        assert_eq!(opened, Err(OpenError::Forged(Forged)));
    }
}
