//! What the library's numbers mean to a person.

/// Why something with tickets did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// There is no ticket.
    NoTicket,
    /// There was one.
    Expired,
    /// Clocks differ by more than Kerberos takes.
    Skew,
    /// Nobody of that name is in the realm that was asked.
    UnknownService,
    /// No server of the realm can be asked.
    NoServer,
    /// The account or its password is not right.
    Refused,
    /// Something else: the library's words have to do.
    Other,
}

/// Where the numbers of RFC 4120 (7.5.9) begin in MIT's library.
const PROTOCOL: i32 = -1_765_328_384;

/// What went wrong, from the two numbers that each call returns (RFC 2744, 3.9, and
/// `krb5.h`).
pub(super) fn cause(major: u32, minor: u32) -> Cause {
    // The library counts below zero, the interface above: same bits.
    let minor = i32::from_ne_bytes(minor.to_ne_bytes());
    match minor.wrapping_sub(PROTOCOL) {
        // KDC_ERR_C_PRINCIPAL_UNKNOWN, CLIENT_REVOKED, KEY_EXPIRED, PREAUTH_FAILED;
        // AP_ERR_BAD_INTEGRITY is what a wrong password is without the last.
        6 | 18 | 23 | 24 | 31 => Cause::Refused,
        // KDC_ERR_S_PRINCIPAL_UNKNOWN
        7 => Cause::UnknownService,
        // AP_ERR_TKT_EXPIRED
        32 => Cause::Expired,
        // AP_ERR_SKEW, and the library's own KRB5_KDCREP_SKEW
        37 | 148 => Cause::Skew,
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
    fn the_numbers_of_the_library_are_told_apart() {
        // As `krb5.h` writes them.
        let known = [
            (-1_765_328_378, Cause::Refused),
            (-1_765_328_360, Cause::Refused),
            (-1_765_328_353, Cause::Refused),
            (-1_765_328_377, Cause::UnknownService),
            (-1_765_328_352, Cause::Expired),
            (-1_765_328_347, Cause::Skew),
            (-1_765_328_236, Cause::Skew),
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
    fn without_a_number_of_its_own_the_interface_s_says_it() {
        assert_eq!(cause(7 << 16, 0), Cause::NoTicket);
        assert_eq!(cause(11 << 16, 39_756_032), Cause::Expired);
        assert_eq!(cause(13 << 16, 0), Cause::Other);
    }
}
