//! Downloads over HTTP from the mirror that the controller names.

use casement_resource::wire::PullProxy;
use casement_resource::{Code, Failure, Secret, WebAddress, without_password};

use super::Result;

pub struct Download<'a> {
    /// May contain a password.
    pub url: &'a Secret,
    pub proxy: &'a PullProxy,
    /// The offset to resume from.
    pub from: u64,
}

/// Receives the offset in the file and the bytes there. An error cancels the
/// download.
pub type OnData<'a> = dyn FnMut(u64, &[u8]) -> Result<()> + 'a;

pub trait Downloads {
    /// Downloads a file from an offset on, in order. A server without support for
    /// ranges starts over at offset 0; one that has no more bytes returns nothing,
    /// which is not an error.
    ///
    /// Success does not mean that the download is complete.
    fn download(&self, download: &Download<'_>, on_data: &mut OnData<'_>) -> Result<()>;
}

impl Download<'_> {
    pub fn address(&self) -> Result<WebAddress> {
        let address = self.url.expose().parse();
        address.map_err(|error| self.mirror_unreachable(&format!("{error}")))
    }

    pub fn proxy_address(&self) -> Result<Option<WebAddress>> {
        let PullProxy::At(proxy) = self.proxy else {
            return Ok(None);
        };
        let address = proxy.expose().parse();
        let address =
            address.map_err(|error| self.mirror_unreachable(&format!("proxy: {error}")))?;
        Ok(Some(address))
    }

    /// The mirror lacks the file, or the download was interrupted.
    pub fn download_failed(&self, reason: &str) -> Failure {
        Failure::new(
            Code::DownloadFailed,
            format!("{}: download failed", without_password(self.url.expose())),
            "check that the mirror has the file; until then, casement uploads it to the host",
        )
        .found(reason)
    }

    pub fn mirror_unreachable(&self, reason: &str) -> Failure {
        Failure::new(
            Code::MirrorUnreachable,
            format!(
                "{} is not reachable from this host",
                without_password(self.url.expose())
            ),
            "check the network between the host and the mirror, the proxy and the trusted \
             certificates; until then, casement uploads the file to the host",
        )
        .found(reason)
    }
}
