//! A blob that comes as lines: what `receive` takes where there is no SFTP.
//!
//! It is written beside its place ([`crate::part`]), so that a copy that was cut
//! goes on; it gets its name when its hash is right.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_resource::wire::{Decoder, FromReceiver, Line, ToReceiver, encode};
use casement_resource::{Blob, Code, Failure};

use crate::part::Part;
use crate::platform::{Platform, Result};
use crate::state::Layout;

/// Takes one blob. What goes wrong is said to the controller; an error is one
/// that it could not be told.
pub fn receive(
    platform: &dyn Platform,
    layout: &Layout,
    expected: &Blob,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> Result<()> {
    let mut say = |message: &FromReceiver| -> Result<()> {
        let line = encode(message).map_err(|error| protocol(&error.to_string()))?;
        output
            .write_all(line.as_bytes())
            .and_then(|()| output.flush())
            .map_err(|_| protocol("the controller does not listen any more"))
    };
    match take(platform, layout, expected, input, &mut say) {
        Ok(true) => say(&FromReceiver::Done),
        // The controller went away; what came stays for the next attempt.
        Ok(false) => Ok(()),
        Err(failure) => say(&FromReceiver::Failed(failure)),
    }
}

/// Whether the blob is there.
fn take(
    platform: &dyn Platform,
    layout: &Layout,
    expected: &Blob,
    input: &mut dyn Read,
    say: &mut dyn FnMut(&FromReceiver) -> Result<()>,
) -> Result<bool> {
    layout.prepare(platform)?;
    if layout.has(expected) {
        return Ok(true);
    }
    let mut part = Part::open(layout, expected)?;
    say(&FromReceiver::Have {
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
            Some(ToReceiver::From { bytes }) => go_on_from(&mut part, bytes)?,
            Some(ToReceiver::Data(text)) => {
                let data = STANDARD.decode(text);
                part.add(&data.map_err(|_| protocol("a piece of the blob is not base64"))?)?;
            }
            Some(ToReceiver::End) => break,
        }
    }
    if !part.is_whole() {
        let found = part.hash();
        part.begin_anew()?;
        let wanted = format!("{} ({} bytes)", expected.sha256, expected.size);
        return Err(Failure::new(
            Code::BlobWrong,
            "the blob did not arrive as it was sent",
            "apply again; if it stays so, the file changed here while it was sent",
        )
        .values(wanted, found.to_string()));
    }
    part.put_in_place()?;
    Ok(true)
}

fn go_on_from(part: &mut Part, bytes: u64) -> Result<()> {
    match bytes {
        bytes if bytes == part.length() => Ok(()),
        0 => part.begin_anew(),
        other => Err(protocol("the blob goes on from somewhere else")
            .values(part.length().to_string(), other.to_string())),
    }
}

struct Messages<'a> {
    input: &'a mut dyn Read,
    decoder: Decoder,
}

impl Messages<'_> {
    /// The next message; none when the controller has gone.
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

fn protocol(what: &str) -> Failure {
    Failure::new(
        Code::Protocol,
        what,
        "use a casement and an agent of the same version",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use casement_resource::Sha256;

    use super::*;
    use crate::sim::Sim;

    struct Host {
        folder: tempfile::TempDir,
        sim: Sim,
    }

    impl Host {
        fn new() -> Self {
            Self {
                folder: tempfile::tempdir().unwrap(),
                sim: Sim::default(),
            }
        }

        fn layout(&self) -> Layout {
            Layout::new(self.folder.path().to_owned())
        }

        fn names(&self) -> Vec<String> {
            let folder = fs::read_dir(self.folder.path().join("blobs")).unwrap();
            let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect()
        }

        /// What is said when these lines come, and no more.
        fn told(&self, blob: &[u8], lines: &[ToReceiver]) -> Vec<FromReceiver> {
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
            let mut said = Vec::new();
            while let Some(Line::Message(message)) = decoder.next_line().unwrap() {
                said.push(message);
            }
            said
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
    fn a_blob_gets_its_name_when_it_is_whole_and_a_cut_one_goes_on() {
        let host = Host::new();
        let blob = b"one two three";
        let cut = [ToReceiver::From { bytes: 0 }, data(b"one ")];
        assert_eq!(host.told(blob, &cut), [have(b"")]);
        let part = format!("{}.part", Sha256::of(blob));
        assert_eq!(host.names(), [part]);
        let rest = [
            ToReceiver::From { bytes: 4 },
            data(b"two "),
            data(b"three"),
            ToReceiver::End,
        ];
        let said = host.told(blob, &rest);
        assert_eq!(said, [have(b"one "), FromReceiver::Done]);
        assert_eq!(host.names(), [Sha256::of(blob).to_string()]);
        let there = fs::read(host.layout().blob(&Sha256::of(blob))).unwrap();
        assert_eq!(there, blob);
        assert_eq!(host.told(blob, &[]), [FromReceiver::Done], "there already");
    }

    #[test]
    fn what_is_not_the_blob_never_gets_its_name() {
        let host = Host::new();
        let blob = b"right";
        let wrong = [
            ToReceiver::From { bytes: 0 },
            data(b"wrong"),
            ToReceiver::End,
        ];
        let said = host.told(blob, &wrong);
        let [_, FromReceiver::Failed(failure)] = said.as_slice() else {
            panic!("{said:?}");
        };
        assert_eq!(failure.code, Code::BlobWrong);
        let right = [ToReceiver::From { bytes: 0 }, data(blob), ToReceiver::End];
        let said = host.told(blob, &right);
        assert_eq!(said, [have(b""), FromReceiver::Done], "nothing was left");
    }

    #[test]
    fn a_remnant_of_something_else_is_begun_anew() {
        let host = Host::new();
        let blob = b"right one";
        host.told(blob, &[data(b"other")]);
        let whole = [ToReceiver::From { bytes: 0 }, data(blob), ToReceiver::End];
        let said = host.told(blob, &whole);
        assert_eq!(said, [have(b"other"), FromReceiver::Done]);
        let other = b"shorter";
        host.told(other, &[data(b"much longer than it")]);
        assert_eq!(host.told(other, &[]), [have(b"")], "too long to be a part");
        let elsewhere = [ToReceiver::From { bytes: 3 }];
        let said = host.told(other, &elsewhere);
        assert!(matches!(said.as_slice(), [_, FromReceiver::Failed(_)]));
    }
}
