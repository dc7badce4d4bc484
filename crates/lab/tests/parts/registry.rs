//! The registry as a client sees it: over TLS, with its CA.

use std::sync::Arc;

use casement_lab::containers::images::{Image, Images};
use casement_lab::containers::registry::{self, Certificates, Stock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A registry on a free port, and who may be trusted for it.
struct Lab {
    port: u16,
    trusted: Certificates,
    web: Image,
}

impl Lab {
    async fn start() -> Self {
        Self::start_for(None).await
    }

    /// For everybody, or for who has the account.
    async fn start_for(account: Option<&'static str>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let trusted = registry::make_certificates(&["127.0.0.1", "registry.lab"]).unwrap();
        let images = Images::new(&["10.0.20348.3807"]).unwrap();
        let web = images.iter().nth(1).unwrap().clone();
        let certificates = trusted.clone();
        let stock = Stock {
            images,
            account: Box::new(move || account.map(str::to_owned)),
        };
        tokio::spawn(async move { registry::serve(listener, &certificates, stock).await });
        Self { port, trusted, web }
    }

    /// The whole answer to one request, as text; an error where TLS refuses.
    async fn ask(&self, method: &str, path: &str) -> std::io::Result<String> {
        self.ask_saying(method, path, "").await
    }

    /// The same with one more header, which has its end of line.
    async fn ask_saying(&self, method: &str, path: &str, more: &str) -> std::io::Result<String> {
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
            format!("{method} {path} HTTP/1.1\r\nHost: lab\r\n{more}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
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
fn a_tag_leads_to_an_index_and_on_to_the_configuration() {
    run(async {
        let lab = Lab::start().await;
        let index = lab
            .ask("GET", "/v2/lab/web/manifests/latest")
            .await
            .unwrap();
        assert!(index.starts_with("HTTP/1.1 200"), "{index}");
        assert!(index.contains(&format!("docker-content-digest: {}", lab.web.index.digest)));
        assert!(index.contains("content-type: application/vnd.oci.image.index.v1+json"));
        let path = format!("/v2/lab/web/manifests/{}", lab.web.manifests[0].digest);
        let manifest = lab.ask("GET", &path).await.unwrap();
        assert!(manifest.contains(&lab.web.configs[0].digest), "{manifest}");
        let path = format!("/v2/lab/web/blobs/{}", lab.web.configs[0].digest);
        let config = lab.ask("GET", &path).await.unwrap();
        assert!(config.contains(r#"["C:\\lab\\web.exe"]"#), "{config}");
    });
}

#[test]
fn head_gives_the_length_and_no_body() {
    run(async {
        let lab = Lab::start().await;
        let answer = lab.ask("HEAD", "/v2/pause/manifests/3.10.2").await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(
            answer.contains("content-length: ") && answer.ends_with("\r\n\r\n"),
            "{answer}"
        );
    });
}

#[test]
fn refusals_are_in_the_words_of_the_specification() {
    run(async {
        let lab = Lab::start().await;
        let nothing = format!("sha256:{}", "0".repeat(64));
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
                format!("/v2/lab/web/blobs/{nothing}"),
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
            let answer = lab.ask(method, &path).await.unwrap();
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{path}: {answer}"
            );
            assert!(
                answer.contains(&format!(r#""code":"{code}""#)),
                "{path}: {answer}"
            );
        }
        let version = lab.ask("GET", "/v2/").await.unwrap();
        assert!(version.starts_with("HTTP/1.1 200"), "{version}");
    });
}

#[test]
fn another_ca_is_not_trusted() {
    run(async {
        let mut lab = Lab::start().await;
        lab.trusted = registry::make_certificates(&["127.0.0.1"]).unwrap();
        assert!(lab.ask("GET", "/v2/").await.is_err());
    });
}

#[test]
fn an_account_is_asked_for_where_there_is_one() {
    run(async {
        let lab = Lab::start_for(Some("anna:hunter2")).await;
        let path = "/v2/pause/manifests/3.10.2";
        // Nobody, somebody else, and who has it: `anna:hunter2`.
        for (login, status) in [
            ("", "401"),
            ("Authorization: Basic YW5uYTp3cm9uZw==\r\n", "401"),
            ("Authorization: Basic YW5uYTpodW50ZXIy\r\n", "200"),
        ] {
            let answer = lab.ask_saying("GET", path, login).await.unwrap();
            let expected = format!("HTTP/1.1 {status}");
            assert!(answer.starts_with(&expected), "{login}: {answer}");
            let asks = answer.contains("www-authenticate: Basic");
            assert_eq!(asks, status == "401", "{answer}");
        }
    });
}
