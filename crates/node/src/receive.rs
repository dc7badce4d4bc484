//! `casement-node receive`: a blob transferred as lines of text, for hosts without
//! SFTP.
//!
//! It is written to a [`crate::partial_blob`], so an interrupted transfer can be
//! resumed; the blob gets its name only when its hash matches.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_resource::wire::{Decoder, FromReceiver, Line, ToReceiver, encode};
use casement_resource::{Blob, Code, Failure};

use crate::partial_blob::PartialBlob;
use crate::platform::{Platform, Result};
use crate::state::Layout;

/// Receives one blob. Failures are sent to the controller; the error returned here
/// is one that could not be sent.
pub fn receive(
    platform: &dyn Platform,
    layout: &Layout,
    expected: &Blob,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> Result<()> {
    let mut send = |message: &FromReceiver| -> Result<()> {
        let line = encode(message).map_err(|error| protocol(&error.to_string()))?;
        output
            .write_all(line.as_bytes())
            .and_then(|()| output.flush())
            .map_err(|_| protocol("the connection to the controller was lost"))
    };
    match receive_blob(platform, layout, expected, input, &mut send) {
        Ok(true) => send(&FromReceiver::Done),
        // The controller disconnected; the partial blob stays for the next attempt.
        Ok(false) => Ok(()),
        Err(failure) => send(&FromReceiver::Failed(failure)),
    }
}

/// Returns whether the blob is complete.
fn receive_blob(
    platform: &dyn Platform,
    layout: &Layout,
    expected: &Blob,
    input: &mut dyn Read,
    send: &mut dyn FnMut(&FromReceiver) -> Result<()>,
) -> Result<bool> {
    layout.prepare(platform)?;
    if layout.has_blob(expected) {
        return Ok(true);
    }
    let mut part = PartialBlob::open(layout, expected)?;
    send(&FromReceiver::Have {
        bytes: part.length(),
        sha256: part.hash(),
    })?;
    let mut messages = Messages {
        input,
        decoder: Decoder::new(),
    };
    loop {
        match messages.next()? {
            None => return Ok(false),
            Some(ToReceiver::From { bytes }) => resume_from(&mut part, bytes)?,
            Some(ToReceiver::Data(text)) => {
                let data = STANDARD.decode(text);
                part.append(
                    &data.map_err(|_| protocol("a chunk of the blob is not valid base64"))?,
                )?;
            }
            Some(ToReceiver::End) => break,
        }
    }
    if !part.is_complete() {
        let found = part.hash();
        part.restart()?;
        let expected_blob = format!("{} ({} bytes)", expected.sha256, expected.size);
        return Err(Failure::new(
            Code::BlobMismatch,
            "the received blob does not match its hash",
            "run `casement apply` again; if this repeats, the file changes while it is sent",
        )
        .values(expected_blob, found.to_string()));
    }
    part.commit()?;
    Ok(true)
}

fn resume_from(part: &mut PartialBlob, bytes: u64) -> Result<()> {
    match bytes {
        bytes if bytes == part.length() => Ok(()),
        0 => part.restart(),
        other => Err(
            protocol("the controller resumes the blob at a different offset")
                .values(part.length().to_string(), other.to_string()),
        ),
    }
}

struct Messages<'a> {
    input: &'a mut dyn Read,
    decoder: Decoder,
}

impl Messages<'_> {
    /// `None` when the controller has disconnected.
    fn next(&mut self) -> Result<Option<ToReceiver>> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match self.decoder.next_line() {
                Ok(Some(Line::Message(message))) => return Ok(Some(message)),
                Ok(Some(Line::Noise(_))) => continue,
                Ok(None) => {}
                Err(error) => return Err(protocol(&error.to_string())),
            }
            match self.input.read(&mut buffer) {
                Ok(0) | Err(_) => return Ok(None),
                Ok(count) => self.decoder.push(buffer.get(..count).unwrap_or_default()),
            }
        }
    }
}

fn protocol(message: &str) -> Failure {
    Failure::new(
        Code::Protocol,
        message,
        "use the same version of casement and the agent",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use casement_resource::Sha256;

    use super::*;
    use crate::sim::Sim;

    struct Host {
        dir: tempfile::TempDir,
        sim: Sim,
    }

    impl Host {
        fn new() -> Self {
            Self {
                dir: tempfile::tempdir().unwrap(),
                sim: Sim::default(),
            }
        }

        fn layout(&self) -> Layout {
            Layout::new(self.dir.path().to_owned())
        }

        fn names(&self) -> Vec<String> {
            let dir = fs::read_dir(self.dir.path().join("blobs")).unwrap();
            let names = dir.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect()
        }

        /// The responses to exactly these lines.
        fn responses_to(&self, blob: &[u8], lines: &[ToReceiver]) -> Vec<FromReceiver> {
            let expected = Blob::of(blob);
            let input: String = lines.iter().map(|line| encode(line).unwrap()).collect();
            let mut output = Vec::new();
            let layout = self.layout();
            receive(
                &self.sim,
                &layout,
                &expected,
                &mut input.as_bytes(),
                &mut output,
            )
            .unwrap();
            let mut decoder = Decoder::new();
            decoder.push(&output);
            let mut responses = Vec::new();
            while let Some(Line::Message(message)) = decoder.next_line().unwrap() {
                responses.push(message);
            }
            responses
        }
    }

    fn data(bytes: &[u8]) -> ToReceiver {
        ToReceiver::Data(STANDARD.encode(bytes))
    }

    fn have(bytes: &[u8]) -> FromReceiver {
        FromReceiver::Have {
            bytes: bytes.len() as u64,
            sha256: Sha256::of(bytes),
        }
    }

    #[test]
    fn interrupted_transfer_is_resumed() {
        let host = Host::new();
        let blob = b"one two three";
        let interrupted = [ToReceiver::From { bytes: 0 }, data(b"one ")];
        assert_eq!(host.responses_to(blob, &interrupted), [have(b"")]);
        let part = format!("{}.part", Sha256::of(blob));
        assert_eq!(host.names(), [part]);
        let rest = [
            ToReceiver::From { bytes: 4 },
            data(b"two "),
            data(b"three"),
            ToReceiver::End,
        ];
        let responses = host.responses_to(blob, &rest);
        assert_eq!(responses, [have(b"one "), FromReceiver::Done]);
        assert_eq!(host.names(), [Sha256::of(blob).to_string()]);
        let stored = fs::read(host.layout().blob(&Sha256::of(blob))).unwrap();
        assert_eq!(stored, blob);
        assert_eq!(
            host.responses_to(blob, &[]),
            [FromReceiver::Done],
            "already complete"
        );
    }

    #[test]
    fn wrong_content_is_never_stored() {
        let host = Host::new();
        let blob = b"right";
        let wrong = [
            ToReceiver::From { bytes: 0 },
            data(b"wrong"),
            ToReceiver::End,
        ];
        let responses = host.responses_to(blob, &wrong);
        let [_, FromReceiver::Failed(failure)] = responses.as_slice() else {
            panic!("{responses:?}");
        };
        assert_eq!(failure.code, Code::BlobMismatch);
        let right = [ToReceiver::From { bytes: 0 }, data(blob), ToReceiver::End];
        let responses = host.responses_to(blob, &right);
        assert_eq!(
            responses,
            [have(b""), FromReceiver::Done],
            "the partial blob was discarded"
        );
    }

    #[test]
    fn partial_blob_of_other_content_is_discarded() {
        let host = Host::new();
        let blob = b"right one";
        host.responses_to(blob, &[data(b"other")]);
        let whole = [ToReceiver::From { bytes: 0 }, data(blob), ToReceiver::End];
        let responses = host.responses_to(blob, &whole);
        assert_eq!(responses, [have(b"other"), FromReceiver::Done]);
        let other = b"shorter";
        host.responses_to(other, &[data(b"much longer than it")]);
        assert_eq!(
            host.responses_to(other, &[]),
            [have(b"")],
            "too long for this blob"
        );
        let elsewhere = [ToReceiver::From { bytes: 3 }];
        let responses = host.responses_to(other, &elsewhere);
        assert!(matches!(responses.as_slice(), [_, FromReceiver::Failed(_)]));
    }
}
