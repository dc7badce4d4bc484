//! Maps status codes of MIT's library to causes.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    NoTicket,
    Expired,
    ClockSkew,
    UnknownService,
    NoServer,
    AuthenticationFailed,
    /// Any other failure; only the library's message is known.
    Other,
}

/// The base of RFC 4120 (7.5.9) error codes in MIT's library.
const PROTOCOL_BASE: i32 = -1_765_328_384;

/// From the major (RFC 2744, 3.9) and minor (`krb5.h`) status of a call.
pub(super) fn cause(major: u32, minor: u32) -> Cause {
    // The library uses negative numbers, GSSAPI unsigned ones: same bits.
    let minor = i32::from_ne_bytes(minor.to_ne_bytes());
    match minor.wrapping_sub(PROTOCOL_BASE) {
        // KDC_ERR_C_PRINCIPAL_UNKNOWN, CLIENT_REVOKED, KEY_EXPIRED, PREAUTH_FAILED;
        // without preauthentication, a wrong password is AP_ERR_BAD_INTEGRITY.
        6 | 18 | 23 | 24 | 31 => Cause::AuthenticationFailed,
        // KDC_ERR_S_PRINCIPAL_UNKNOWN
        7 => Cause::UnknownService,
        // AP_ERR_TKT_EXPIRED
        32 => Cause::Expired,
        // AP_ERR_SKEW and the library's own KRB5_KDCREP_SKEW
        37 | 148 => Cause::ClockSkew,
        // KRB5_REALM_UNKNOWN, KRB5_KDC_UNREACH, KRB5_REALM_CANT_RESOLVE
        154 | 156 | 220 => Cause::NoServer,
        // KRB5_CC_NOTFOUND, KRB5_FCC_NOFILE
        141 | 195 => Cause::NoTicket,
        _ => match major >> 16 & 0xff {
            // GSS_S_NO_CRED, GSS_S_CREDENTIALS_EXPIRED
            7 => Cause::NoTicket,
            11 => Cause::Expired,
            _ => Cause::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_status_determines_the_cause() {
        // From `krb5.h`.
        let known = [
            (-1_765_328_378, Cause::AuthenticationFailed),
            (-1_765_328_360, Cause::AuthenticationFailed),
            (-1_765_328_353, Cause::AuthenticationFailed),
            (-1_765_328_377, Cause::UnknownService),
            (-1_765_328_352, Cause::Expired),
            (-1_765_328_347, Cause::ClockSkew),
            (-1_765_328_236, Cause::ClockSkew),
            (-1_765_328_230, Cause::NoServer),
            (-1_765_328_228, Cause::NoServer),
            (-1_765_328_164, Cause::NoServer),
            (-1_765_328_243, Cause::NoTicket),
            (-1_765_328_189, Cause::NoTicket),
            (-1_765_328_343, Cause::Other),
        ];
        let failure = 13 << 16;
        for (minor, expected) in known {
            let minor = i32::cast_unsigned(minor);
            assert_eq!(cause(failure, minor), expected, "{minor}");
        }
    }

    #[test]
    fn major_status_is_used_without_a_known_minor_status() {
        assert_eq!(cause(7 << 16, 0), Cause::NoTicket);
        assert_eq!(cause(11 << 16, 39_756_032), Cause::Expired);
        assert_eq!(cause(13 << 16, 0), Cause::Other);
    }
}
