//! The HTTP encoding of sealed messages (MS-WSMV 2.2.9.1).

use super::ntlm::seal::BadSignature;

/// Seals and unseals the messages of one authenticated connection.
pub(crate) trait Sealer: Send {
    /// Returns the signature and the sealed message.
    fn seal(&mut self, message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), SealError>;

    fn unseal(&mut self, signature: &[u8], sealed: &[u8]) -> Result<Vec<u8>, BadSignature>;
}

/// The security context is no longer valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("failed to seal a message")]
pub(crate) struct SealError;

pub(crate) const CONTENT_TYPE: &str = r#"multipart/encrypted;protocol="application/HTTP-SPNEGO-session-encrypted";boundary="Encrypted Boundary""#;

const BOUNDARY: &[u8] = b"--Encrypted Boundary";
const OCTET_STREAM: &[u8] = b"Content-Type: application/octet-stream\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnsealError {
    #[error("a sealed message is malformed")]
    Malformed,
    #[error(transparent)]
    BadSignature(#[from] BadSignature),
}

pub(crate) fn pack(sealing: &mut dyn Sealer, envelope: &[u8]) -> Result<Vec<u8>, SealError> {
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

/// Unseals a body. Its parts are found by their headers and the last boundary: sealed
/// bytes may look like a boundary, and may be longer than the message.
pub(crate) fn unpack(sealing: &mut dyn Sealer, body: &[u8]) -> Result<Vec<u8>, UnsealError> {
    let length = original_length(body).ok_or(UnsealError::Malformed)?;
    let at = position(body, OCTET_STREAM).ok_or(UnsealError::Malformed)? + OCTET_STREAM.len();
    let rest = body.get(at..).ok_or(UnsealError::Malformed)?;
    let (signature_length, rest) = rest.split_at_checked(4).ok_or(UnsealError::Malformed)?;
    let signature_length = signature_length
        .try_into()
        .map_err(|_| UnsealError::Malformed)?;
    let signature_length = u32::from_le_bytes(signature_length);
    let signature_length = usize::try_from(signature_length).map_err(|_| UnsealError::Malformed)?;
    let (signature, rest) = rest
        .split_at_checked(signature_length)
        .ok_or(UnsealError::Malformed)?;
    let end = rest.windows(BOUNDARY.len()).rposition(|it| it == BOUNDARY);
    let sealed = end.and_then(|end| rest.get(..end));
    let message = sealing.unseal(signature, sealed.ok_or(UnsealError::Malformed)?)?;
    match message.len() == length {
        true => Ok(message),
        false => Err(UnsealError::Malformed),
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
    fn packed_message_is_sealed_and_unpacks_to_the_same() {
        let (mut client, mut server) = sides();
        for envelope in ["<a>one</a>", "", "<b>--Encrypted Boundary--\r\n</b>"] {
            let body = pack(&mut client, envelope.as_bytes()).unwrap();
            let seen = String::from_utf8_lossy(&body).into_owned();
            assert!(envelope.is_empty() || !seen.contains(envelope));
            assert_eq!(unpack(&mut server, &body).unwrap(), envelope.as_bytes());
        }
    }

    #[test]
    fn damaged_body_is_rejected() {
        let body = pack(&mut sides().0, b"<a>one</a>").unwrap();
        for length in 0..body.len() - 4 {
            assert!(unpack(&mut sides().1, &body[..length]).is_err(), "{length}");
        }
        let mut changed = body.clone();
        let last = body.len() - 30;
        changed[last] ^= 1;
        let unsealed = unpack(&mut sides().1, &changed);
        assert_eq!(unsealed, Err(UnsealError::BadSignature(BadSignature)));
    }
}
