//! Elsewhere than on Unix: the same interface, and nothing behind it. Windows has
//! tickets of its own, which another library knows.

use std::sync::Arc;

use casement_resource::Secret;

use super::super::ntlm::seal::Forged;
use super::super::sealed::{NotSealed, Seals};

/// Why a call did not work.
#[derive(Debug)]
pub(crate) enum Failure {
    Absent(String),
    Said {
        major: u32,
        minor: u32,
        words: String,
    },
}

fn absent() -> Failure {
    Failure::Absent("casement uses tickets on Linux only".to_owned())
}

/// Never made.
pub(crate) enum Credential {}

/// Never made: it needs a credential.
pub(crate) enum Initiator {}

/// Never made: it needs an initiator.
pub(crate) enum Context {}

/// What to send, and what there is to wait for.
pub(crate) struct Step {
    pub(crate) token: Vec<u8>,
    pub(crate) done: bool,
}

impl Credential {
    pub(crate) fn cached(_principal: Option<&str>) -> Result<Self, Failure> {
        Err(absent())
    }

    pub(crate) fn with_password(_principal: &str, _password: &Secret) -> Result<Self, Failure> {
        Err(absent())
    }

    pub(crate) fn about(&self) -> Result<(String, u32), Failure> {
        match *self {}
    }
}

impl Initiator {
    pub(crate) fn new(
        credential: Arc<Credential>,
        _service: &str,
        _binding: Option<Vec<u8>>,
    ) -> Result<Self, Failure> {
        match *credential {}
    }

    pub(crate) fn step(&mut self, _said: &[u8]) -> Result<Step, Failure> {
        match *self {}
    }

    pub(crate) fn context(self) -> Context {
        match self {}
    }
}

impl Seals for Context {
    fn seal(&mut self, _message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), NotSealed> {
        match *self {}
    }

    fn open(&mut self, _signature: &[u8], _sealed: &[u8]) -> Result<Vec<u8>, Forged> {
        match *self {}
    }
}
