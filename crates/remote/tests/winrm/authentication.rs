//! The server side of NTLM, Kerberos and Basic authentication.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_resource::Secret;

use crate::kerberos;
use crate::ntlm::crypto::{Key, account_key, hmac_md5, md5, rc4_once, utf16};
use crate::ntlm::message::{Fields, Pair, VERSION, field, flags, put_pair, read_pairs};
use crate::ntlm::seal::{Sealing, Side};
use crate::sealed::Sealer;
use crate::server::Shared;

const SERVER_CHALLENGE: [u8; 8] = [7, 1, 6, 2, 5, 3, 4, 9];
const MIC: std::ops::Range<usize> = 72..88;

/// The authentication state of one connection.
pub struct Authenticator {
    shared: Arc<Shared>,
    first: Vec<u8>,
    challenge: Vec<u8>,
    pub sealing: Option<Box<dyn Sealer>>,
    pub authenticated: bool,
}

/// Both have the `WWW-Authenticate` headers of the response.
pub enum Verdict {
    Accept(Vec<String>),
    /// Respond with 401.
    Reject(Vec<String>),
}

impl Authenticator {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            first: Vec::new(),
            challenge: Vec::new(),
            sealing: None,
            authenticated: false,
        }
    }

    pub fn authenticate(&mut self, authorization: Option<&str>) -> Verdict {
        let Some((method, token)) = authorization.and_then(|value| value.split_once(' ')) else {
            return match self.authenticated {
                true => Verdict::Accept(Vec::new()),
                false => Verdict::Reject(self.offers()),
            };
        };
        let Ok(token) = STANDARD.decode(token) else {
            return Verdict::Reject(self.offers());
        };
        let settings = self.shared.settings();
        match method {
            "Basic" if settings.basic => {
                let expected = format!("{}:{}", settings.user, settings.password);
                match token == expected.as_bytes() {
                    true => Verdict::Accept(Vec::new()),
                    false => Verdict::Reject(self.offers()),
                }
            }
            // A GSS-API token starts with 0x60.
            "Negotiate" if settings.negotiate && token.first() == Some(&0x60) => {
                self.ticket(&token)
            }
            "Negotiate" if settings.negotiate && settings.ntlm => match token.get(8) {
                Some(1) => {
                    self.challenge = self.challenge();
                    self.first = token;
                    let token = STANDARD.encode(&self.challenge);
                    Verdict::Reject(vec![format!("Negotiate {token}")])
                }
                Some(3) => match self.check(&token) {
                    Some(key) => {
                        let sealing = Sealing::new(&key, Side::Server);
                        self.log_in(format!("NTLM {}", settings.user), sealing);
                        Verdict::Accept(Vec::new())
                    }
                    None => Verdict::Reject(self.offers()),
                },
                _ => Verdict::Reject(self.offers()),
            },
            _ => Verdict::Reject(self.offers()),
        }
    }

    fn log_in(&mut self, user: String, sealing: impl Sealer + 'static) {
        self.authenticated = true;
        self.shared.logins.lock().unwrap().push(user);
        if self.shared.certificate.is_none() {
            self.sealing = Some(Box::new(sealing));
        }
    }

    /// Checks a Kerberos ticket; over TLS, it must be bound to the certificate.
    fn ticket(&mut self, token: &[u8]) -> Verdict {
        let settings = self.shared.settings();
        let Some(keytab) = settings.keytab else {
            return Verdict::Reject(self.offers());
        };
        let binding = self.shared.certificate.as_deref().map(end_point);
        let headers = |token: &[u8]| vec![format!("Negotiate {}", STANDARD.encode(token))];
        match kerberos::accept(&keytab, token, binding.as_deref()) {
            Ok(accepted) => {
                self.log_in(format!("Kerberos {}", accepted.client), accepted.context);
                Verdict::Accept(headers(&accepted.token))
            }
            Err(token) if token.is_empty() => Verdict::Reject(self.offers()),
            Err(token) => Verdict::Reject(headers(&token)),
        }
    }

    fn offers(&self) -> Vec<String> {
        let settings = self.shared.settings();
        let mut offers = Vec::new();
        if settings.negotiate {
            offers.push("Negotiate".to_owned());
        }
        if settings.basic {
            offers.push("Basic realm=\"WSMAN\"".to_owned());
        }
        offers
    }

    fn challenge(&self) -> Vec<u8> {
        let settings = self.shared.settings();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let now = i64::try_from(now.as_secs()).unwrap() + settings.clock_ahead;
        let time = u64::try_from(now + 11_644_473_600).unwrap() * 10_000_000;
        let mut pairs = Vec::new();
        for (id, name) in [(2, "WIN1"), (1, "WIN1"), (4, "win1"), (3, "win1")] {
            put_pair(&mut pairs, id, &utf16(name));
        }
        put_pair(&mut pairs, Pair::Time as u16, &time.to_le_bytes());
        put_pair(&mut pairs, Pair::End as u16, &[]);
        let mut fields = Fields::after(56);
        let target = fields.put(&utf16("WIN1"));
        let info = fields.put(&pairs);
        let negotiated = match settings.seals {
            true => flags::OURS,
            false => flags::OURS & !flags::SEAL,
        };
        let mut message = b"NTLMSSP\0\x02\0\0\0".to_vec();
        message.extend_from_slice(&target);
        message.extend_from_slice(&negotiated.to_le_bytes());
        message.extend_from_slice(&SERVER_CHALLENGE);
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(&info);
        message.extend_from_slice(&VERSION);
        message.extend_from_slice(&fields.payload);
        message
    }

    /// The session key, if the proof, the MIC and the TLS channel binding are valid.
    fn check(&self, message: &[u8]) -> Option<Key> {
        let settings = self.shared.settings();
        let text = |at| {
            let units: Vec<u16> = field(message, at)?
                .chunks_exact(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                .collect();
            String::from_utf16(&units).ok()
        };
        let (domain, user) = (text(28)?, text(36)?);
        if !user.eq_ignore_ascii_case(&settings.user) {
            return None;
        }
        let password = Secret::new(settings.password.clone());
        let key = account_key(&password, &user, &domain);
        let (proof, about) = field(message, 20)?.split_at_checked(16)?;
        if hmac_md5(&key, &[&SERVER_CHALLENGE, about]) != proof {
            return None;
        }
        let mut session: Key = field(message, 52)?.try_into().ok()?;
        rc4_once(&hmac_md5(&key, &[proof]), &mut session);
        let pairs = read_pairs(about.get(28..)?).ok()?;
        let pair = |id_of: Pair| {
            let found = pairs.iter().find(|(id, _)| *id == id_of as u16);
            found.map(|(_, value)| value.clone())
        };
        let signed = pair(Pair::Flags)?.first()? & 2 == 2;
        let mut without = message.to_vec();
        without.get_mut(MIC)?.fill(0);
        let mic = hmac_md5(&session, &[&self.first, &self.challenge, &without]);
        if !signed || message.get(MIC)? != mic {
            return None;
        }
        match &self.shared.certificate {
            Some(certificate) => {
                (pair(Pair::ChannelBinding)? == binding(certificate)).then_some(session)
            }
            None => Some(session),
        }
    }
}

/// The `tls-server-end-point` channel binding (RFC 5929), for a certificate signed with
/// SHA-256.
fn end_point(certificate: &[u8]) -> Vec<u8> {
    use sha2::Digest as _;
    let hash = sha2::Sha256::digest(certificate);
    [b"tls-server-end-point:".as_slice(), &hash].concat()
}

/// The channel binding hash of NTLM.
fn binding(certificate: &[u8]) -> Key {
    let data = end_point(certificate);
    md5(&[
        &[0; 16],
        &u32::try_from(data.len()).unwrap().to_le_bytes(),
        &data,
    ])
}
