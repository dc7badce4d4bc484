//! Secrets, made when a host asks for them and not before.
//!
//! A host asks while it holds its own lock, so whatever an earlier run made for
//! it is left over by then, and whatever is made now is used at once.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use casement_plan::windows::BOOTSTRAP_TOKEN;
use casement_resource::{Secret, SecretName};

use crate::api::Api;
use crate::error::RunError;

/// Where a run's secrets come from.
pub trait Secrets: Sync {
    /// The values of these; one that is not known is left out.
    fn reveal(
        &self,
        names: &[SecretName],
    ) -> impl Future<Output = Result<BTreeMap<SecretName, Secret>, RunError>> + Send;
}

/// For documents that need none.
#[derive(Debug, Clone, Copy)]
pub struct NoSecrets;

impl Secrets for NoSecrets {
    async fn reveal(&self, _: &[SecretName]) -> Result<BTreeMap<SecretName, Secret>, RunError> {
        Ok(BTreeMap::new())
    }
}

/// Those that the controller has read before: passwords of accounts.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a>(pub &'a BTreeMap<SecretName, Secret>);

impl Secrets for Given<'_> {
    async fn reveal(&self, names: &[SecretName]) -> Result<BTreeMap<SecretName, Secret>, RunError> {
        let value = |name: &SecretName| Some((name.clone(), self.0.get(name)?.clone()));
        Ok(names.iter().filter_map(value).collect())
    }
}

/// Bootstrap tokens for one host. [`Tokens::revoke`] must follow, however the
/// join ends.
#[derive(Debug)]
pub struct Tokens<'a, A> {
    api: &'a A,
    host: &'a str,
    minted: Mutex<Vec<String>>,
}

impl<'a, A: Api> Tokens<'a, A> {
    /// None yet.
    pub fn new(api: &'a A, host: &'a str) -> Self {
        Self {
            api,
            host,
            minted: Mutex::default(),
        }
    }

    /// Deletes those that were made; says the first thing that went wrong.
    pub async fn revoke(self) -> Result<(), RunError> {
        let minted = self.minted.into_inner();
        let mut revoked = Ok(());
        for id in minted.unwrap_or_else(PoisonError::into_inner) {
            let result = self.api.revoke(&id).await;
            revoked = revoked.and(result);
        }
        revoked
    }
}

impl<A: Api> Secrets for Tokens<'_, A> {
    async fn reveal(&self, names: &[SecretName]) -> Result<BTreeMap<SecretName, Secret>, RunError> {
        let mut values = BTreeMap::new();
        for name in names.iter().filter(|name| name.as_str() == BOOTSTRAP_TOKEN) {
            let token = self.api.mint(self.host).await?;
            let mut minted = self.minted.lock().unwrap_or_else(PoisonError::into_inner);
            minted.push(token.id);
            values.insert(name.clone(), token.value);
        }
        Ok(values)
    }
}
