//! Image pulls of containerd: from the registry in the image's name, with the credentials in
//! containerd's configuration and through the proxy in its environment.
//!
//! Connects only to loopback addresses, without TLS: a remote registry is reached only
//! through a local proxy.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_node::sim::{RegistryImage, World};
use casement_resource::service_names::CONTAINERD;
use casement_resource::{ServiceDefinition, WebAddress};
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::kubelet;
use crate::host::disk;

/// containerd's error for a missing image.
pub(crate) const NOT_FOUND: &str = "not found";
const TIMEOUT: Duration = Duration::from_secs(10);

/// The image, or the pull error.
pub(crate) async fn pull(world: &World, image: &str) -> Result<RegistryImage, String> {
    let request = ManifestRequest::new(world, image).ok_or(NOT_FOUND)?;
    let response = timeout(TIMEOUT, request.send()).await;
    let (status, body) = response.map_err(|_| "i/o timeout".to_owned())??;
    match status {
        200 => Ok(read_manifest_list(&body)),
        404 => Err(NOT_FOUND.to_owned()),
        other => Err(format!("unexpected status {other}")),
    }
}

struct ManifestRequest {
    to: SocketAddr,
    /// A path, or an absolute URL through a proxy.
    target: String,
    registry: String,
    auth_headers: Vec<(&'static str, String)>,
}

impl ManifestRequest {
    /// `None` if the first hop is not a loopback address.
    fn new(world: &World, image: &str) -> Option<Self> {
        let (registry, rest) = image.split_once('/')?;
        let (repository, tag) = rest.rsplit_once(':')?;
        let service = world.services.get(CONTAINERD)?.definition.as_ref()?;
        let mut auth_headers = Vec::new();
        if let Some((user, password)) = credentials(world, service, registry) {
            auth_headers.push(("authorization", basic_auth(&user, &password)));
        }
        let path = format!("/v2/{repository}/manifests/{tag}");
        let (to, target) = match proxy(world, service, registry) {
            None => (registry.parse().ok()?, path),
            Some(proxy) => {
                if let Some(it) = &proxy.account {
                    let login = basic_auth(&it.user, it.password.expose());
                    auth_headers.push(("proxy-authorization", login));
                }
                let address: IpAddr = proxy.host.parse().ok()?;
                let to = SocketAddr::new(address, proxy.port);
                (to, format!("http://{registry}{path}"))
            }
        };
        to.ip().is_loopback().then(|| Self {
            to,
            target,
            registry: registry.to_owned(),
            auth_headers,
        })
    }

    async fn send(&self) -> Result<(u16, Bytes), String> {
        let stream = TcpStream::connect(self.to).await.map_err(error_text)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(error_text)?;
        tokio::spawn(connection);
        let mut request = Request::get(&self.target).header("host", &self.registry);
        for (name, value) in &self.auth_headers {
            request = request.header(*name, value);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(error_text)?;
        let response = sender.send_request(request).await.map_err(error_text)?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(error_text)?;
        Ok((status, body.to_bytes()))
    }
}

/// Credentials for a registry in containerd's configuration.
fn credentials(
    world: &World,
    service: &ServiceDefinition,
    registry: &str,
) -> Option<(String, String)> {
    let configuration = kubelet::containerd_configuration(world, service)?;
    let plugins = configuration.get("plugins")?.as_table()?;
    let auth = plugins.values().find_map(|plugin| {
        let configs = plugin.get("registry")?.get("configs")?;
        configs.get(registry)?.get("auth")
    })?;
    let text = |name: &str| Some(auth.get(name)?.as_str()?.to_owned());
    Some((text("username")?, text("password")?))
}

/// The proxy in containerd's environment, where registries use HTTPS.
fn proxy(world: &World, service: &ServiceDefinition, registry: &str) -> Option<WebAddress> {
    let file = service.environment_file.as_ref();
    let file = file.and_then(|path| disk::text(world, path.as_str()));
    let value = |name: &str| {
        let mut lines = file.iter().flat_map(|text| text.lines());
        let from_file = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let from_file = from_file.map(str::to_owned);
        from_file.or_else(|| service.environment.get(name).cloned())
    };
    let host = registry.split(':').next().unwrap_or_default();
    let no_proxy = value("NO_PROXY").unwrap_or_default();
    if no_proxy.split(',').any(|entry| entry == host) {
        return None;
    }
    value("HTTPS_PROXY")?.parse().ok()
}

fn basic_auth(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Reads the Windows versions in a manifest list.
fn read_manifest_list(body: &[u8]) -> RegistryImage {
    let list: Value = serde_json::from_slice(body).unwrap_or_default();
    let manifests = list["manifests"].as_array().into_iter().flatten();
    let versions = manifests.filter_map(|it| it["platform"]["os.version"].as_str());
    RegistryImage {
        versions: versions.map(str::to_owned).collect(),
        runs: true,
    }
}

#[cfg(test)]
mod tests {
    use casement_resource::HostPath;

    use super::*;
    use crate::bare_windows;
    use crate::fixture::service;

    const CONFIGURATION: &str = "[plugins.\"io.containerd.cri.v1.images\".registry.configs.\
        \"r.example:5000\".auth]\nusername = \"anna\"\npassword = \"p\\\"w\"\n";

    fn world() -> World {
        let mut world = bare_windows("win1", [127, 18, 0, 11].into());
        let config = r"C:\config.toml";
        let (name, mut containerd) = service("containerd", &["containerd", "--config", config]);
        let definition = containerd.definition.as_mut().unwrap();
        definition.environment_file = Some(r"C:\proxy.env".parse().unwrap());
        let no_proxy = "127.0.0.1,near.example".to_owned();
        definition
            .environment
            .insert("NO_PROXY".to_owned(), no_proxy);
        world.services.insert(name, containerd);
        let mut put = |path: &str, text: &str| {
            let path: HostPath = path.parse().unwrap();
            disk::write_to(&mut world, &path, text);
        };
        put(config, CONFIGURATION);
        put(
            r"C:\proxy.env",
            "HTTPS_PROXY=http://otto:p%40w@127.0.0.1:3128\n",
        );
        world
    }

    #[test]
    fn registry_and_proxy_get_their_own_credentials() {
        let request = ManifestRequest::new(&world(), "r.example:5000/pause:3.10").unwrap();
        assert_eq!(request.to.to_string(), "127.0.0.1:3128");
        assert_eq!(
            request.target,
            "http://r.example:5000/v2/pause/manifests/3.10"
        );
        let auth_headers = [
            ("authorization", basic_auth("anna", "p\"w")),
            ("proxy-authorization", basic_auth("otto", "p@w")),
        ];
        assert_eq!(request.auth_headers, auth_headers);
    }

    #[test]
    fn only_loopback_addresses_are_contacted() {
        let other = ManifestRequest::new(&world(), "127.0.0.1:5000/a/b:1").unwrap();
        assert_eq!(other.target, "/v2/a/b/manifests/1");
        assert!(
            other.auth_headers.is_empty(),
            "credentials of another registry are used"
        );
        assert!(ManifestRequest::new(&world(), "near.example/pause:3.10").is_none());
        let mut world = world();
        let remote_proxy = "HTTPS_PROXY=http://10.3.0.9:3128\n";
        disk::write_to(&mut world, &r"C:\proxy.env".parse().unwrap(), remote_proxy);
        assert!(ManifestRequest::new(&world, "r.example:5000/pause:3.10").is_none());
    }
}
