//! The lab's Windows images: manifests and configs without layers.
//!
//! The programs are already on every container's drive C (`C:\lab`), so an image only
//! names the program to start. Each image is an index with one manifest per Windows
//! build, because containerd accepts only manifests that match the host's build. The
//! output is deterministic: the same versions result in the same digests.

use std::fmt::Write;

use serde::Serialize;
use sha2::{Digest, Sha256};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// All images of the lab's registry.
#[derive(Debug, Clone)]
pub struct Images(Vec<Image>);

#[derive(Debug, Clone)]
pub struct Image {
    /// For example `lab/web`.
    pub repository: &'static str,
    /// For example `latest`.
    pub tag: &'static str,
    /// The blob that the tag refers to.
    pub index: Blob,
    /// One per Windows build.
    pub manifests: Vec<Blob>,
    /// One per manifest.
    pub configs: Vec<Blob>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// `sha256:…`.
    pub digest: String,
    pub media_type: &'static str,
    /// Always JSON.
    pub bytes: Vec<u8>,
}

impl Images {
    /// `versions` are Windows versions such as `10.0.20348.3807`.
    pub fn new(versions: &[&str]) -> serde_json::Result<Self> {
        let image = |repository, tag, program| Image::new(repository, tag, program, versions);
        Ok(Self(vec![
            image("pause", "3.10.2", r"C:\lab\pause.exe")?,
            image("lab/web", "latest", r"C:\lab\web.exe")?,
        ]))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Image> {
        self.0.iter()
    }
}

impl Image {
    fn new(
        repository: &'static str,
        tag: &'static str,
        program: &'static str,
        versions: &[&str],
    ) -> serde_json::Result<Self> {
        let mut descriptors = Vec::new();
        let (mut manifests, mut configs) = (Vec::new(), Vec::new());
        for version in versions {
            let platform = Platform::windows(version);
            let config = Blob::new(CONFIG, &Config::new(&platform, program))?;
            let manifest = Manifest {
                schema_version: 2,
                media_type: MANIFEST,
                config: config.descriptor(None),
                layers: [],
            };
            let manifest = Blob::new(MANIFEST, &manifest)?;
            descriptors.push(manifest.descriptor(Some(platform)));
            manifests.push(manifest);
            configs.push(config);
        }
        let index = Index {
            schema_version: 2,
            media_type: INDEX,
            manifests: descriptors,
        };
        Ok(Self {
            repository,
            tag,
            index: Blob::new(INDEX, &index)?,
            manifests,
            configs,
        })
    }
}

impl Blob {
    fn new(media_type: &'static str, document: &impl Serialize) -> serde_json::Result<Self> {
        let bytes = serde_json::to_vec(document)?;
        let mut digest = String::from("sha256:");
        for byte in Sha256::digest(&bytes) {
            // Writing to a string cannot fail.
            let _ = write!(digest, "{byte:02x}");
        }
        Ok(Self {
            digest,
            media_type,
            bytes,
        })
    }

    fn descriptor<'a>(&self, platform: Option<Platform<'a>>) -> Descriptor<'a> {
        Descriptor {
            media_type: self.media_type,
            digest: self.digest.clone(),
            size: self.bytes.len(),
            platform,
        }
    }
}

// Documents of the OCI image specification. Structs instead of maps, so that the
// field order and thereby the digests are fixed.

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index<'a> {
    schema_version: u8,
    media_type: &'static str,
    manifests: Vec<Descriptor<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    schema_version: u8,
    media_type: &'static str,
    config: Descriptor<'a>,
    layers: [(); 0],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor<'a> {
    media_type: &'static str,
    digest: String,
    size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<Platform<'a>>,
}

#[derive(Serialize, Clone)]
struct Platform<'a> {
    architecture: &'static str,
    os: &'static str,
    #[serde(rename = "os.version")]
    os_version: &'a str,
}

impl<'a> Platform<'a> {
    fn windows(os_version: &'a str) -> Self {
        Self {
            architecture: "amd64",
            os: "windows",
            os_version,
        }
    }
}

#[derive(Serialize)]
struct Config<'a> {
    #[serde(flatten)]
    platform: Platform<'a>,
    config: RunConfig,
    rootfs: Rootfs,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct RunConfig {
    entrypoint: [&'static str; 1],
    working_dir: &'static str,
}

#[derive(Serialize)]
struct Rootfs {
    r#type: &'static str,
    diff_ids: [(); 0],
}

impl<'a> Config<'a> {
    fn new(platform: &Platform<'a>, program: &'static str) -> Self {
        Self {
            platform: platform.clone(),
            config: RunConfig {
                entrypoint: [program],
                working_dir: r"C:\",
            },
            rootfs: Rootfs {
                r#type: "layers",
                diff_ids: [],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = "10.0.20348.3807";

    #[test]
    fn config_has_entrypoint_and_windows_build() {
        let images = Images::new(&[VERSION]).unwrap();
        let web = images.iter().nth(1).unwrap();
        let config = String::from_utf8(web.configs[0].bytes.clone()).unwrap();
        assert_eq!(
            config,
            r#"{"architecture":"amd64","os":"windows","os.version":"10.0.20348.3807","config":{"Entrypoint":["C:\\lab\\web.exe"],"WorkingDir":"C:\\"},"rootfs":{"type":"layers","diff_ids":[]}}"#
        );
    }

    #[test]
    fn digests_are_stable() {
        let images = Images::new(&[VERSION]).unwrap();
        let digests: Vec<&str> = images.iter().map(|it| it.index.digest.as_str()).collect();
        assert_eq!(
            digests,
            [
                "sha256:eb2b4bc47fb05e31270a306cb5a51a3daf2576d61b5a547bca7bdaea1045f811",
                "sha256:884f9cd38e07995ec666d39b5690c94c08b7f15d8879b2534b861a7bccb0730b",
            ]
        );
    }

    #[test]
    fn index_lists_every_build() {
        let images = Images::new(&["10.0.17763.7314", VERSION]).unwrap();
        let pause = images.iter().next().unwrap();
        let index = String::from_utf8(pause.index.bytes.clone()).unwrap();
        for manifest in &pause.manifests {
            assert!(index.contains(&manifest.digest), "{index}");
        }
        assert_eq!(pause.manifests.len(), 2);
    }
}
