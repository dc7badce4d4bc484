//! The examples of MS-NLMP 4.2.4, and invalid messages.

use super::crypto::{account_key, prove, rc4_once, utf16};
use super::seal::{BadSignature, Sealing, Side};
use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| *byte != b' ').collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

const SERVER_CHALLENGE: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
const CLIENT_CHALLENGE: [u8; 8] = [0xaa; 8];
const RANDOM_KEY: [u8; 16] = [0x55; 16];

fn example_pairs() -> Vec<u8> {
    let mut pairs = Vec::new();
    put_pair(&mut pairs, 2, &utf16("Domain"));
    put_pair(&mut pairs, 1, &utf16("Server"));
    put_pair(&mut pairs, 0, &[]);
    pairs
}

fn example_account_key() -> [u8; 16] {
    account_key(&Secret::new("Password".to_owned()), "User", "Domain")
}

#[test]
fn account_key_equals_the_published_one() {
    let expected = bytes("0c 86 8a 40 3b fd 7a 93 a3 00 1e f2 2e f0 2e 3f");
    assert_eq!(example_account_key().to_vec(), expected);
}

#[test]
fn proof_and_session_key_equal_the_published_ones() {
    let proof = prove(
        &example_account_key(),
        SERVER_CHALLENGE,
        CLIENT_CHALLENGE,
        0,
        &example_pairs(),
    );
    let expected = bytes("68 cd 0a b8 51 e5 1c 96 aa bc 92 7b eb ef 6a 1c");
    assert_eq!(proof.response[..16], expected);
    let expected = bytes("8d e4 0c ca db c1 4a 82 f1 5c b0 ad 0d e9 5c a3");
    assert_eq!(proof.session_key.to_vec(), expected);
    let mut exchanged = RANDOM_KEY;
    rc4_once(&proof.session_key, &mut exchanged);
    let expected = bytes("c5 da d2 54 4f c9 79 90 94 ce 1c e9 0b c9 d0 3e");
    assert_eq!(exchanged.to_vec(), expected);
}

#[test]
fn sealed_message_equals_the_published_one() {
    let mut client = Sealing::new(&RANDOM_KEY, Side::Client);
    let (signature, sealed) = client.seal(&utf16("Plaintext"));
    let expected = bytes("54 e5 01 65 bf 19 36 dc 99 60 20 c1 81 1b 0f 06 fb 5f");
    assert_eq!(sealed, expected);
    let expected = bytes("01 00 00 00 7f b3 8e c5 c5 5d 49 76 00 00 00 00");
    assert_eq!(signature.to_vec(), expected);
}

#[test]
fn changed_or_repeated_message_is_rejected() {
    let mut client = Sealing::new(&RANDOM_KEY, Side::Client);
    let server = || Sealing::new(&RANDOM_KEY, Side::Server);
    let (signature, sealed) = client.seal(b"one");
    let (next_signature, next) = client.seal(b"two");
    let mut receiver = server();
    assert_eq!(receiver.unseal(&signature, &sealed).unwrap(), b"one");
    assert_eq!(receiver.unseal(&next_signature, &next).unwrap(), b"two");
    assert_eq!(
        receiver.unseal(&next_signature, &next),
        Err(BadSignature),
        "again"
    );
    let mut changed = sealed.clone();
    changed[0] ^= 1;
    assert_eq!(server().unseal(&signature, &changed), Err(BadSignature));
    assert_eq!(
        server().unseal(&next_signature, &next),
        Err(BadSignature),
        "early"
    );
    assert_eq!(
        server().unseal(&signature[..15], &sealed),
        Err(BadSignature)
    );
}

fn challenge(pairs: &[u8]) -> Vec<u8> {
    let mut fields = Fields::after(56);
    let target = fields.put(&utf16("Server"));
    let info = fields.put(pairs);
    let mut message = b"NTLMSSP\0\x02\0\0\0".to_vec();
    message.extend_from_slice(&target);
    message.extend_from_slice(&flags::OURS.to_le_bytes());
    message.extend_from_slice(&SERVER_CHALLENGE);
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&info);
    message.extend_from_slice(&VERSION);
    message.extend_from_slice(&fields.payload);
    message
}

#[test]
fn challenge_is_parsed_and_a_truncated_one_rejected() {
    let whole = challenge(&example_pairs());
    let read = Challenge::read(&whole).unwrap();
    assert_eq!(read.challenge, SERVER_CHALLENGE);
    assert_eq!(read.flags & flags::NEEDED, flags::NEEDED);
    assert_eq!(read.time(), None);
    for length in 0..whole.len() {
        assert!(Challenge::read(&whole[..length]).is_err(), "{length}");
    }
}

#[test]
fn response_names_the_account_and_carries_the_binding() {
    let mut pairs = Vec::new();
    put_pair(&mut pairs, 7, &133_000_000_000_000_000_u64.to_le_bytes());
    put_pair(&mut pairs, 0, &[]);
    let challenge = Challenge::read(&challenge(&pairs)).unwrap();
    let password = Secret::new("Password".to_owned());
    let login = Login::new(Account::new(r"Domain\User", &password));
    let nonces = Nonces {
        client_challenge: CLIENT_CHALLENGE,
        session_key: RANDOM_KEY,
        time: 7,
    };
    let authenticate = login.authenticate(&challenge, Some([9; 16]), "HTTP/win1", &nonces);
    let message = &authenticate.message;
    let value = |at| message::field(message, at).unwrap();
    assert_eq!(value(12), [0; 24], "no LM response");
    assert_eq!(value(28), utf16("Domain"));
    assert_eq!(value(36), utf16("User"));
    let response = value(20);
    let time = &response[24..32];
    assert_eq!(time, 133_000_000_000_000_000_u64.to_le_bytes());
    let pairs = message::read_pairs(&response[44..]).unwrap();
    assert!(pairs.contains(&(10, vec![9; 16])), "{pairs:?}");
    assert!(pairs.contains(&(6, vec![2, 0, 0, 0])), "{pairs:?}");
    assert_ne!(message[MIC..MIC + 16], [0; 16]);
    let mut without = message.clone();
    without[MIC..MIC + 16].fill(0);
    let parts = [login.negotiate(), &challenge.bytes, &without];
    assert_eq!(
        message[MIC..MIC + 16],
        crypto::hmac_md5(&RANDOM_KEY, &parts)
    );
    let shown = String::from_utf8_lossy(message).into_owned();
    assert!(!shown.contains("P\0a\0s\0s\0"));
}
