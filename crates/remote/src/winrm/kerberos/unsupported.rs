//! The same interface on systems other than Unix, without an implementation: Windows has
//! its own ticket cache and library.

use std::sync::Arc;

use casement_resource::Secret;

use super::super::ntlm::seal::BadSignature;
use super::super::sealed::{SealError, Sealer};

#[derive(Debug)]
pub(crate) enum Failure {
    NotInstalled(String),
    Gss {
        major: u32,
        minor: u32,
        message: String,
    },
}

fn not_installed() -> Failure {
    Failure::NotInstalled("Kerberos tickets are supported on Linux only".to_owned())
}

/// Never constructed, and neither are the types that need it.
pub(crate) enum Credential {}

pub(crate) enum Initiator {}

pub(crate) enum Context {}

pub(crate) struct Step {
    pub(crate) token: Vec<u8>,
    pub(crate) done: bool,
}

impl Credential {
    pub(crate) fn cached(_principal: Option<&str>) -> Result<Self, Failure> {
        Err(not_installed())
    }

    pub(crate) fn with_password(_principal: &str, _password: &Secret) -> Result<Self, Failure> {
        Err(not_installed())
    }

    pub(crate) fn inquire(&self) -> Result<(String, u32), Failure> {
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

    pub(crate) fn step(&mut self, _received: &[u8]) -> Result<Step, Failure> {
        match *self {}
    }

    pub(crate) fn context(self) -> Context {
        match self {}
    }
}

impl Sealer for Context {
    fn seal(&mut self, _message: &[u8]) -> Result<(Vec<u8>, Vec<u8>), SealError> {
        match *self {}
    }

    fn unseal(&mut self, _signature: &[u8], _sealed: &[u8]) -> Result<Vec<u8>, BadSignature> {
        match *self {}
    }
}
