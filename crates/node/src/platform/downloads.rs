//! What the agent fetches over the web: downloads, from the mirror that it was
//! told of.

use casement_resource::wire::PullProxy;
use casement_resource::{Code, Failure, Secret, WebAddress, without_password};

use super::Result;

/// A file on the web.
pub struct Download<'a> {
    /// Its address, which may hold a password.
    pub url: &'a Secret,
    /// The way there.
    pub proxy: &'a PullProxy,
    /// So many bytes of it are here already.
    pub from: u64,
}

/// What becomes of bytes that come: where in the file they belong, and the bytes. A
/// failure ends the download.
pub type Take<'a> = dyn FnMut(u64, &[u8]) -> Result<()> + 'a;

/// Downloads.
pub trait Downloads {
    /// Fetches a file from a byte on, piece by piece and in order. A server that
    /// knows nothing of parts begins anew, with the byte 0; one that has no more than
    /// what is here gives nothing, and that is no failure.
    ///
    /// That it ends well does not say that all of it came.
    fn download(&self, download: &Download<'_>, take: &mut Take<'_>) -> Result<()>;
}

impl Download<'_> {
    /// The address in its parts.
    pub fn address(&self) -> Result<WebAddress> {
        let address = self.url.expose().parse();
        address.map_err(|error| self.no_mirror(&format!("{error}")))
    }

    /// The proxy's address in its parts, where one is given.
    pub fn proxy_address(&self) -> Result<Option<WebAddress>> {
        let PullProxy::At(proxy) = self.proxy else {
            return Ok(None);
        };
        let address = proxy.expose().parse();
        let address = address.map_err(|error| self.no_mirror(&format!("the proxy: {error}")))?;
        Ok(Some(address))
    }

    /// The file is not there, or did not come whole.
    pub fn not_fetched(&self, said: &str) -> Failure {
        Failure::new(
            Code::NotFetched,
            format!("{} did not come", without_password(self.url.expose())),
            "look whether the mirror has it; what a host cannot fetch is sent to it",
        )
        .found(said)
    }

    /// Nothing comes from there.
    pub fn no_mirror(&self, said: &str) -> Failure {
        Failure::new(
            Code::NoMirror,
            format!(
                "{} cannot be fetched from this host",
                without_password(self.url.expose())
            ),
            "check the way from the host to the mirror, its proxy and whom it trusts; what it \
             cannot fetch is sent to it",
        )
        .found(said)
    }
}
