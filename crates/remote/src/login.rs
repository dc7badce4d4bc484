//! SSH authentication: a key, its certificate, the keys of an SSH agent, or a password.

use std::sync::Arc;

use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::{Certificate, HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey};
use russh::{MethodKind, MethodSet};

use crate::credential::Credential;
use crate::error::{ConnectionError, HostLabel, LoginError, RemoteError};
use crate::host_key::{HostKeyVerifier, fingerprint};
use crate::target::Target;

/// Servers disconnect after this many unknown keys (`MaxAuthTries`).
#[cfg(unix)]
const MAX_KEYS: usize = 6;

pub(crate) struct Login<'a> {
    pub(crate) handle: &'a mut Handle<HostKeyVerifier>,
    pub(crate) target: &'a Target,
    pub(crate) host: &'a HostLabel,
}

impl Login<'_> {
    pub(crate) async fn log_in(mut self) -> Result<(), RemoteError> {
        let target = self.target;
        match &target.credential {
            Credential::Key { key, certificate } => {
                if let Some(certificate) = certificate
                    && self.with_certificate(key, certificate).await?
                {
                    return Ok(());
                }
                self.with_key(key).await
            }
            Credential::Agent { socket, only } => {
                #[cfg(unix)]
                {
                    self.with_agent(socket, only.as_deref()).await
                }
                #[cfg(not(unix))]
                {
                    let _: &Option<Arc<PublicKey>> = only;
                    Err(RemoteError::Login(LoginError::SshAgent {
                        socket: socket.clone(),
                        reason: "SSH agents are not supported on this system".to_owned(),
                    }))
                }
            }
            Credential::Password(password) => self.with_password(password.expose()).await,
        }
    }

    fn connection_lost(&self, source: russh::Error) -> RemoteError {
        RemoteError::Connection(ConnectionError::Lost {
            host: self.host.clone(),
            step: "authentication",
            source: Some(Box::new(source)),
        })
    }

    async fn rsa_hash(&self, key: &PublicKey) -> Result<Option<HashAlg>, RemoteError> {
        if !key.algorithm().is_rsa() {
            return Ok(None);
        }
        let best = self.handle.best_supported_rsa_hash().await;
        Ok(best
            .map_err(|source| self.connection_lost(source))?
            .flatten())
    }

    async fn with_certificate(
        &mut self,
        key: &Arc<PrivateKey>,
        certificate: &Certificate,
    ) -> Result<bool, RemoteError> {
        let user = self.target.user.as_str();
        let result =
            self.handle
                .authenticate_openssh_cert(user, Arc::clone(key), certificate.clone());
        let result = result.await;
        result
            .map(|result| result.success())
            .map_err(|source| self.connection_lost(source))
    }

    async fn with_key(&mut self, key: &Arc<PrivateKey>) -> Result<(), RemoteError> {
        let hash = self.rsa_hash(key.public_key()).await?;
        let with_hash = PrivateKeyWithHashAlg::new(Arc::clone(key), hash);
        let user = self.target.user.as_str();
        let result = self.handle.authenticate_publickey(user, with_hash).await;
        match result.map_err(|source| self.connection_lost(source))? {
            AuthResult::Success => Ok(()),
            AuthResult::Failure {
                remaining_methods, ..
            } if self.is_disconnected(&remaining_methods) => {
                Err(self.connection_lost(russh::Error::Disconnect))
            }
            AuthResult::Failure {
                remaining_methods, ..
            } => Err(self.rejected(vec![fingerprint(key.public_key())], &remaining_methods)),
        }
    }

    /// Whether the connection was lost: russh reports a host that went down meanwhile,
    /// as in a reboot, as a rejection without accepted methods.
    fn is_disconnected(&self, methods: &MethodSet) -> bool {
        methods.is_empty() && self.handle.is_closed()
    }

    fn rejected(&self, keys: Vec<String>, methods: &MethodSet) -> RemoteError {
        RemoteError::Login(LoginError::KeyRejected {
            host: self.host.clone(),
            user: self.target.user.clone(),
            key: keys.join("\n"),
            methods: method_names(methods),
        })
    }

    #[cfg(unix)]
    async fn with_agent(
        &mut self,
        socket: &std::path::Path,
        only: Option<&PublicKey>,
    ) -> Result<(), RemoteError> {
        use russh::keys::agent::AgentIdentity;
        use russh::keys::agent::client::AgentClient;
        let unusable = |reason: String| {
            RemoteError::Login(LoginError::SshAgent {
                socket: socket.to_owned(),
                reason,
            })
        };
        let agent = AgentClient::connect_uds(socket).await;
        let mut agent = agent.map_err(|error| unusable(error.to_string()))?;
        let identities = agent.request_identities().await;
        let mut identities = identities.map_err(|error| unusable(error.to_string()))?;
        if let Some(only) = only {
            identities.retain(|it| it.public_key().key_data() == only.key_data());
            if identities.is_empty() {
                return Err(unusable(format!(
                    "the agent has no key with the fingerprint {}",
                    fingerprint(only)
                )));
            }
        }
        if identities.is_empty() {
            return Err(unusable("the agent has no keys".to_owned()));
        }
        let (mut tried, mut methods) = (Vec::new(), MethodSet::empty());
        for identity in identities.into_iter().take(MAX_KEYS) {
            let public = identity.public_key().into_owned();
            let hash = self.rsa_hash(&public).await?;
            let user = self.target.user.as_str();
            let result = match identity {
                AgentIdentity::PublicKey { key, .. } => {
                    let handle = &mut *self.handle;
                    handle
                        .authenticate_publickey_with(user, key, hash, &mut agent)
                        .await
                }
                AgentIdentity::Certificate { certificate, .. } => {
                    let handle = &mut *self.handle;
                    handle
                        .authenticate_certificate_with(user, certificate, hash, &mut agent)
                        .await
                }
            };
            match result.map_err(|error| unusable(error.to_string()))? {
                AuthResult::Success => return Ok(()),
                AuthResult::Failure {
                    remaining_methods, ..
                } => methods = remaining_methods,
            }
            tried.push(fingerprint(&public));
        }
        Err(self.rejected(tried, &methods))
    }

    async fn with_password(&mut self, password: &str) -> Result<(), RemoteError> {
        let user = self.target.user.as_str();
        let result = self.handle.authenticate_password(user, password).await;
        let methods = match result.map_err(|source| self.connection_lost(source))? {
            AuthResult::Success => return Ok(()),
            AuthResult::Failure {
                remaining_methods, ..
            } => remaining_methods,
        };
        // Many servers disable the method `password` and use keyboard-interactive
        // instead.
        if methods.contains(&MethodKind::KeyboardInteractive)
            && self.keyboard_interactive(password).await?
        {
            return Ok(());
        }
        Err(RemoteError::Login(LoginError::PasswordRejected {
            host: self.host.clone(),
            user: self.target.user.clone(),
            methods: method_names(&methods),
        }))
    }

    /// Answers the single password prompt of a keyboard-interactive login.
    async fn keyboard_interactive(&mut self, password: &str) -> Result<bool, RemoteError> {
        use KeyboardInteractiveAuthResponse::{Failure, InfoRequest, Success};
        let user = self.target.user.as_str();
        let handle = &mut *self.handle;
        let started = handle.authenticate_keyboard_interactive_start(user, None);
        let mut result = started
            .await
            .map_err(|source| self.connection_lost(source))?;
        let mut password_sent = false;
        loop {
            let responses = match &result {
                Success => return Ok(true),
                Failure { .. } => return Ok(false),
                InfoRequest { prompts, .. } if prompts.is_empty() => Vec::new(),
                InfoRequest { prompts, .. } if !password_sent && prompts.len() == 1 => {
                    password_sent = true;
                    vec![password.to_owned()]
                }
                InfoRequest { .. } => return Ok(false),
            };
            let handle = &mut *self.handle;
            let response = handle.authenticate_keyboard_interactive_respond(responses);
            result = response
                .await
                .map_err(|source| self.connection_lost(source))?;
        }
    }
}

fn method_names(methods: &MethodSet) -> Vec<String> {
    methods.iter().map(String::from).collect()
}
