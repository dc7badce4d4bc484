//! The image registry over TLS, as a client sees it.

use std::sync::Arc;

use casement_lab::containers::images::{Image, Images};
use casement_lab::containers::registry::{self, Certificates, RegistryConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A registry on a free port, and the certificates that the client trusts.
struct Registry {
    port: u16,
    trusted: Certificates,
    web: Image,
}

impl Registry {
    async fn start() -> Self {
        Self::start_with(None).await
    }

    /// With required credentials, or for anonymous access.
    async fn start_with(credentials: Option<&'static str>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let trusted = registry::make_certificates(&["127.0.0.1", "registry.lab"]).unwrap();
        let images = Images::new(&["10.0.20348.3807"]).unwrap();
        let web = images.iter().nth(1).unwrap().clone();
        let certificates = trusted.clone();
        let config = RegistryConfig {
            images,
            credentials: Box::new(move || credentials.map(str::to_owned)),
        };
        tokio::spawn(async move { registry::serve(listener, &certificates, config).await });
        Self { port, trusted, web }
    }

    /// Returns the response as text, or a TLS error.
    async fn request(&self, method: &str, path: &str) -> std::io::Result<String> {
        self.request_with(method, path, "").await
    }

    /// `header` is an additional header line with its line end, or empty.
    async fn request_with(
        &self,
        method: &str,
        path: &str,
        header: &str,
    ) -> std::io::Result<String> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(self.trusted.ca_pem.as_bytes()).unwrap();
        roots.add(ca).unwrap();
        let config = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut stream = TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await?;
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: lab\r\n{header}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await?;
        Ok(response)
    }
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

#[test]
fn tag_resolves_to_index_manifest_and_config() {
    run(async {
        let registry = Registry::start().await;
        let index = registry
            .request("GET", "/v2/lab/web/manifests/latest")
            .await
            .unwrap();
        assert!(index.starts_with("HTTP/1.1 200"), "{index}");
        assert!(index.contains(&format!(
            "docker-content-digest: {}",
            registry.web.index.digest
        )));
        assert!(index.contains("content-type: application/vnd.oci.image.index.v1+json"));
        let path = format!("/v2/lab/web/manifests/{}", registry.web.manifests[0].digest);
        let manifest = registry.request("GET", &path).await.unwrap();
        assert!(
            manifest.contains(&registry.web.configs[0].digest),
            "{manifest}"
        );
        let path = format!("/v2/lab/web/blobs/{}", registry.web.configs[0].digest);
        let config = registry.request("GET", &path).await.unwrap();
        assert!(config.contains(r#"["C:\\lab\\web.exe"]"#), "{config}");
    });
}

#[test]
fn head_returns_the_length_without_a_body() {
    run(async {
        let registry = Registry::start().await;
        let response = registry
            .request("HEAD", "/v2/pause/manifests/3.10.2")
            .await
            .unwrap();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert!(
            response.contains("content-length: ") && response.ends_with("\r\n\r\n"),
            "{response}"
        );
    });
}

#[test]
fn errors_have_codes_of_the_specification() {
    run(async {
        let registry = Registry::start().await;
        let unknown = format!("sha256:{}", "0".repeat(64));
        for (method, path, status, code) in [
            (
                "GET",
                "/v2/nobody/manifests/latest".to_owned(),
                "404",
                "NAME_UNKNOWN",
            ),
            (
                "GET",
                "/v2/lab/web/manifests/1".to_owned(),
                "404",
                "MANIFEST_UNKNOWN",
            ),
            (
                "GET",
                format!("/v2/lab/web/blobs/{unknown}"),
                "404",
                "BLOB_UNKNOWN",
            ),
            (
                "POST",
                "/v2/lab/web/blobs/uploads/".to_owned(),
                "405",
                "UNSUPPORTED",
            ),
            ("GET", "/etc/passwd".to_owned(), "404", "UNSUPPORTED"),
        ] {
            let response = registry.request(method, &path).await.unwrap();
            assert!(
                response.starts_with(&format!("HTTP/1.1 {status}")),
                "{path}: {response}"
            );
            assert!(
                response.contains(&format!(r#""code":"{code}""#)),
                "{path}: {response}"
            );
        }
        let version = registry.request("GET", "/v2/").await.unwrap();
        assert!(version.starts_with("HTTP/1.1 200"), "{version}");
    });
}

#[test]
fn certificate_of_another_ca_is_rejected() {
    run(async {
        let mut registry = Registry::start().await;
        registry.trusted = registry::make_certificates(&["127.0.0.1"]).unwrap();
        assert!(registry.request("GET", "/v2/").await.is_err());
    });
}

#[test]
fn configured_credentials_are_required() {
    run(async {
        let registry = Registry::start_with(Some("anna:hunter2")).await;
        let path = "/v2/pause/manifests/3.10.2";
        // No credentials, a wrong password, and `anna:hunter2`.
        for (login, status) in [
            ("", "401"),
            ("Authorization: Basic YW5uYTp3cm9uZw==\r\n", "401"),
            ("Authorization: Basic YW5uYTpodW50ZXIy\r\n", "200"),
        ] {
            let response = registry.request_with("GET", path, login).await.unwrap();
            let expected = format!("HTTP/1.1 {status}");
            assert!(response.starts_with(&expected), "{login}: {response}");
            let challenged = response.contains("www-authenticate: Basic");
            assert_eq!(challenged, status == "401", "{response}");
        }
    });
}
