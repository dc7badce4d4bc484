//! What containerd does for an image that nobody gave the simulated host: it asks the
//! registry in the image's name, with the account in its configuration and through
//! the proxy in its variables.
//!
//! It speaks to this machine alone, and without TLS: a registry elsewhere is reached
//! only through a proxy that is here.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_node::sim::{RegistryImage, World};
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

/// What is said of an image that is nowhere.
pub(crate) const NOT_FOUND: &str = "not found";
/// How long a registry may be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// The image, or why it does not come.
pub(crate) async fn pull(world: &World, image: &str) -> Result<RegistryImage, String> {
    let order = Order::of(world, image).ok_or(NOT_FOUND)?;
    let asked = timeout(SILENCE, order.ask()).await;
    let (status, answer) = asked.map_err(|_| "i/o timeout".to_owned())??;
    match status {
        200 => Ok(read(&answer)),
        404 => Err(NOT_FOUND.to_owned()),
        other => Err(format!("unexpected status {other}")),
    }
}

/// One request for a manifest.
struct Order {
    to: SocketAddr,
    /// A path; through a proxy the whole address.
    target: String,
    registry: String,
    /// Headers that say who asks.
    logins: Vec<(&'static str, String)>,
}

impl Order {
    /// None where this machine is not on the way.
    fn of(world: &World, image: &str) -> Option<Self> {
        let (registry, rest) = image.split_once('/')?;
        let (repository, tag) = rest.rsplit_once(':')?;
        let service = world.services.get("containerd")?.definition.as_ref()?;
        let mut logins = Vec::new();
        if let Some((user, password)) = account(world, service, registry) {
            logins.push(("authorization", basic(&user, &password)));
        }
        let path = format!("/v2/{repository}/manifests/{tag}");
        let (to, target) = match proxy(world, service, registry) {
            None => (registry.parse().ok()?, path),
            Some(proxy) => {
                if let Some(it) = &proxy.account {
                    let login = basic(&it.user, it.password.expose());
                    logins.push(("proxy-authorization", login));
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
            logins,
        })
    }

    async fn ask(&self) -> Result<(u16, Bytes), String> {
        let stream = TcpStream::connect(self.to).await.map_err(told)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
        tokio::spawn(connection);
        let mut request = Request::get(&self.target).header("host", &self.registry);
        for (name, value) in &self.logins {
            request = request.header(*name, value);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(told)?;
        let response = sender.send_request(request).await.map_err(told)?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(told)?;
        Ok((status, body.to_bytes()))
    }
}

/// The account that containerd's configuration has for a registry.
fn account(world: &World, service: &ServiceDefinition, registry: &str) -> Option<(String, String)> {
    let configuration = kubelet::containerd_configuration(world, service)?;
    let plugins = configuration.get("plugins")?.as_table()?;
    let auth = plugins.values().find_map(|plugin| {
        let configs = plugin.get("registry")?.get("configs")?;
        configs.get(registry)?.get("auth")
    })?;
    let text = |name: &str| Some(auth.get(name)?.as_str()?.to_owned());
    Some((text("username")?, text("password")?))
}

/// The proxy that containerd's variables name for a registry, which speaks TLS.
fn proxy(world: &World, service: &ServiceDefinition, registry: &str) -> Option<WebAddress> {
    let file = service.environment_file.as_ref();
    let file = file.and_then(|path| disk::text(world, path.as_str()));
    let value = |name: &str| {
        let mut lines = file.iter().flat_map(|text| text.lines());
        let written = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let written = written.map(str::to_owned);
        written.or_else(|| service.environment.get(name).cloned())
    };
    let host = registry.split(':').next().unwrap_or_default();
    let excepted = value("NO_PROXY").unwrap_or_default();
    if excepted.split(',').any(|place| place == host) {
        return None;
    }
    value("HTTPS_PROXY")?.parse().ok()
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The versions in a list of images for several builds.
fn read(answer: &[u8]) -> RegistryImage {
    let list: Value = serde_json::from_slice(answer).unwrap_or_default();
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
        let place = r"C:\config.toml";
        let (name, mut containerd) = service("containerd", &["containerd", "--config", place]);
        let definition = containerd.definition.as_mut().unwrap();
        definition.environment_file = Some(r"C:\proxy.env".parse().unwrap());
        let excepted = "127.0.0.1,near.example".to_owned();
        definition
            .environment
            .insert("NO_PROXY".to_owned(), excepted);
        world.services.insert(name, containerd);
        let mut put = |path: &str, text: &str| {
            let path: HostPath = path.parse().unwrap();
            disk::put_in(&mut world, &path, text);
        };
        put(place, CONFIGURATION);
        put(
            r"C:\proxy.env",
            "HTTPS_PROXY=http://otto:p%40w@127.0.0.1:3128\n",
        );
        world
    }

    #[test]
    fn a_registry_is_asked_with_its_account_through_the_proxy_and_its_account() {
        let order = Order::of(&world(), "r.example:5000/pause:3.10").unwrap();
        assert_eq!(order.to.to_string(), "127.0.0.1:3128");
        assert_eq!(
            order.target,
            "http://r.example:5000/v2/pause/manifests/3.10"
        );
        let logins = [
            ("authorization", basic("anna", "p\"w")),
            ("proxy-authorization", basic("otto", "p@w")),
        ];
        assert_eq!(order.logins, logins);
    }

    #[test]
    fn what_is_not_on_this_machine_is_not_asked() {
        let other = Order::of(&world(), "127.0.0.1:5000/a/b:1").unwrap();
        assert_eq!(other.target, "/v2/a/b/manifests/1");
        assert!(other.logins.is_empty(), "it is another registry's account");
        assert!(Order::of(&world(), "near.example/pause:3.10").is_none());
        let mut world = world();
        let away = "HTTPS_PROXY=http://10.3.0.9:3128\n";
        disk::put_in(&mut world, &r"C:\proxy.env".parse().unwrap(), away);
        assert!(Order::of(&world, "r.example:5000/pause:3.10").is_none());
    }
}
