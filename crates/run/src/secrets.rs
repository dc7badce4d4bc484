//! Secrets are created when a host requests them, not earlier.
//!
//! A host requests a secret while it holds its own lock: tokens of earlier runs are
//! leftovers by then, and a new one is used at once.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use casement_plan::windows::BOOTSTRAP_TOKEN;
use casement_resource::{Secret, SecretName};

use crate::cluster_api::ClusterApi;
use crate::error::RunError;

pub trait Secrets: Sync {
    /// Unknown names are left out.
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

/// Passwords that the controller has read at startup.
#[derive(Debug, Clone, Copy)]
pub struct KnownSecrets<'a>(pub &'a BTreeMap<SecretName, Secret>);

impl Secrets for KnownSecrets<'_> {
    async fn reveal(&self, names: &[SecretName]) -> Result<BTreeMap<SecretName, Secret>, RunError> {
        let value = |name: &SecretName| Some((name.clone(), self.0.get(name)?.clone()));
        Ok(names.iter().filter_map(value).collect())
    }
}

/// Bootstrap tokens for one host. [`Tokens::revoke`] must be called on every outcome.
#[derive(Debug)]
pub struct Tokens<'a, A> {
    api: &'a A,
    host: &'a str,
    created: Mutex<Vec<String>>,
}

impl<'a, A: ClusterApi> Tokens<'a, A> {
    pub fn new(api: &'a A, host: &'a str) -> Self {
        Self {
            api,
            host,
            created: Mutex::default(),
        }
    }

    /// Tries to delete all of them and returns the first error.
    pub async fn revoke(self) -> Result<(), RunError> {
        let created = self.created.into_inner();
        let mut revoked = Ok(());
        for id in created.unwrap_or_else(PoisonError::into_inner) {
            let result = self.api.delete_token(&id).await;
            revoked = revoked.and(result);
        }
        revoked
    }
}

impl<A: ClusterApi> Secrets for Tokens<'_, A> {
    async fn reveal(&self, names: &[SecretName]) -> Result<BTreeMap<SecretName, Secret>, RunError> {
        let mut values = BTreeMap::new();
        for name in names.iter().filter(|name| name.as_str() == BOOTSTRAP_TOKEN) {
            let token = self.api.create_token(self.host).await?;
            let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
            created.push(token.id);
            values.insert(name.clone(), token.value);
        }
        Ok(values)
    }
}
