//! Logging in: a key, its certificate, an agent's keys, or a password.

use std::sync::Arc;

use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::{Certificate, HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey};
use russh::{MethodKind, MethodSet};

use crate::credential::Credential;
use crate::error::{Place, RemoteError};
use crate::host_key::{HostKeyJudge, fingerprint};
use crate::target::Target;

/// Servers hang up after so many keys that they do not know (`MaxAuthTries`).
#[cfg(unix)]
const MOST_KEYS: usize = 6;

/// A login that is under way.
pub(crate) struct Login<'a> {
    pub(crate) handle: &'a mut Handle<HostKeyJudge>,
    pub(crate) target: &'a Target,
    pub(crate) place: &'a Place,
}

impl Login<'_> {
    /// Logs in, or says with what it was tried.
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
                    Err(RemoteError::SshAgent {
                        socket: socket.clone(),
                        reason: "agents are not asked on this system".to_owned(),
                    })
                }
            }
            Credential::Password(password) => self.with_password(password.expose()).await,
        }
    }

    fn lost(&self, source: russh::Error) -> RemoteError {
        RemoteError::Lost {
            place: self.place.clone(),
            step: "logging in",
            source: Some(Box::new(source)),
        }
    }

    async fn rsa_hash(&self, key: &PublicKey) -> Result<Option<HashAlg>, RemoteError> {
        if !key.algorithm().is_rsa() {
            return Ok(None);
        }
        let best = self.handle.best_supported_rsa_hash().await;
        Ok(best.map_err(|source| self.lost(source))?.flatten())
    }

    async fn with_certificate(
        &mut self,
        key: &Arc<PrivateKey>,
        certificate: &Certificate,
    ) -> Result<bool, RemoteError> {
        let user = self.target.user.as_str();
        let answer =
            self.handle
                .authenticate_openssh_cert(user, Arc::clone(key), certificate.clone());
        let answer = answer.await;
        answer
            .map(|answer| answer.success())
            .map_err(|source| self.lost(source))
    }

    async fn with_key(&mut self, key: &Arc<PrivateKey>) -> Result<(), RemoteError> {
        let hash = self.rsa_hash(key.public_key()).await?;
        let with_hash = PrivateKeyWithHashAlg::new(Arc::clone(key), hash);
        let user = self.target.user.as_str();
        let answer = self.handle.authenticate_publickey(user, with_hash).await;
        match answer.map_err(|source| self.lost(source))? {
            AuthResult::Success => Ok(()),
            AuthResult::Failure {
                remaining_methods, ..
            } if self.is_cut(&remaining_methods) => Err(self.lost(russh::Error::Disconnect)),
            AuthResult::Failure {
                remaining_methods, ..
            } => Err(self.refused(vec![fingerprint(key.public_key())], &remaining_methods)),
        }
    }

    /// Whether nobody has answered: a host that went down meanwhile, as at a reboot,
    /// is reported as if it had refused, without a word on what it would take.
    fn is_cut(&self, methods: &MethodSet) -> bool {
        methods.is_empty() && self.handle.is_closed()
    }

    fn refused(&self, keys: Vec<String>, methods: &MethodSet) -> RemoteError {
        RemoteError::Refused {
            place: self.place.clone(),
            user: self.target.user.clone(),
            key: keys.join("\n"),
            methods: names(methods),
        }
    }

    #[cfg(unix)]
    async fn with_agent(
        &mut self,
        socket: &std::path::Path,
        only: Option<&PublicKey>,
    ) -> Result<(), RemoteError> {
        use russh::keys::agent::AgentIdentity;
        use russh::keys::agent::client::AgentClient;
        let unusable = |reason: String| RemoteError::SshAgent {
            socket: socket.to_owned(),
            reason,
        };
        let agent = AgentClient::connect_uds(socket).await;
        let mut agent = agent.map_err(|error| unusable(error.to_string()))?;
        let held = agent.request_identities().await;
        let mut held = held.map_err(|error| unusable(error.to_string()))?;
        if let Some(only) = only {
            held.retain(|it| it.public_key().key_data() == only.key_data());
            if held.is_empty() {
                return Err(unusable(format!("it does not hold {}", fingerprint(only))));
            }
        }
        if held.is_empty() {
            return Err(unusable("it holds no key".to_owned()));
        }
        let (mut tried, mut methods) = (Vec::new(), MethodSet::empty());
        for identity in held.into_iter().take(MOST_KEYS) {
            let public = identity.public_key().into_owned();
            let hash = self.rsa_hash(&public).await?;
            let user = self.target.user.as_str();
            let answer = match identity {
                AgentIdentity::PublicKey { key, .. } => {
                    let asked = &mut *self.handle;
                    asked
                        .authenticate_publickey_with(user, key, hash, &mut agent)
                        .await
                }
                AgentIdentity::Certificate { certificate, .. } => {
                    let asked = &mut *self.handle;
                    asked
                        .authenticate_certificate_with(user, certificate, hash, &mut agent)
                        .await
                }
            };
            match answer.map_err(|error| unusable(error.to_string()))? {
                AuthResult::Success => return Ok(()),
                AuthResult::Failure {
                    remaining_methods, ..
                } => methods = remaining_methods,
            }
            tried.push(fingerprint(&public));
        }
        Err(self.refused(tried, &methods))
    }

    async fn with_password(&mut self, password: &str) -> Result<(), RemoteError> {
        let user = self.target.user.as_str();
        let answer = self.handle.authenticate_password(user, password).await;
        let methods = match answer.map_err(|source| self.lost(source))? {
            AuthResult::Success => return Ok(()),
            AuthResult::Failure {
                remaining_methods, ..
            } => remaining_methods,
        };
        // Many servers have switched the method `password` off, and ask for it in
        // a conversation instead.
        if methods.contains(&MethodKind::KeyboardInteractive) && self.converse(password).await? {
            return Ok(());
        }
        Err(RemoteError::PasswordRefused {
            place: self.place.clone(),
            user: self.target.user.clone(),
            methods: names(&methods),
        })
    }

    /// Answers the one hidden question of a keyboard-interactive login.
    async fn converse(&mut self, password: &str) -> Result<bool, RemoteError> {
        use KeyboardInteractiveAuthResponse::{Failure, InfoRequest, Success};
        let user = self.target.user.as_str();
        let started = &mut *self.handle;
        let started = started.authenticate_keyboard_interactive_start(user, None);
        let mut answer = started.await.map_err(|source| self.lost(source))?;
        let mut answered = false;
        loop {
            let answers = match &answer {
                Success => return Ok(true),
                Failure { .. } => return Ok(false),
                InfoRequest { prompts, .. } if prompts.is_empty() => Vec::new(),
                InfoRequest { prompts, .. } if !answered && prompts.len() == 1 => {
                    answered = true;
                    vec![password.to_owned()]
                }
                InfoRequest { .. } => return Ok(false),
            };
            let asked = &mut *self.handle;
            let said = asked.authenticate_keyboard_interactive_respond(answers);
            answer = said.await.map_err(|source| self.lost(source))?;
        }
    }
}

fn names(methods: &MethodSet) -> Vec<String> {
    methods.iter().map(String::from).collect()
}
