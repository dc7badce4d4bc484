//! What the registry answers: a pure function of the request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use crate::containers::images::{Blob, Image, Images};

/// A refusal, in the words of the distribution specification.
struct Refusal(StatusCode, &'static str, &'static str);

const UNSUPPORTED: Refusal = Refusal(
    StatusCode::METHOD_NOT_ALLOWED,
    "UNSUPPORTED",
    "this registry can only be read",
);
const NO_SUCH_PLACE: Refusal = Refusal(
    StatusCode::NOT_FOUND,
    "UNSUPPORTED",
    "there is nothing under this path",
);
const NAME_UNKNOWN: Refusal = Refusal(
    StatusCode::NOT_FOUND,
    "NAME_UNKNOWN",
    "repository name not known to registry",
);
const MANIFEST_UNKNOWN: Refusal = Refusal(
    StatusCode::NOT_FOUND,
    "MANIFEST_UNKNOWN",
    "manifest unknown to registry",
);
const BLOB_UNKNOWN: Refusal = Refusal(
    StatusCode::NOT_FOUND,
    "BLOB_UNKNOWN",
    "blob unknown to registry",
);

const UNAUTHORIZED: Refusal = Refusal(
    StatusCode::UNAUTHORIZED,
    "UNAUTHORIZED",
    "authentication required",
);

/// Whether a request comes from who has the account, `user:password`.
pub(super) fn is_from<B>(request: &Request<B>, account: &str) -> bool {
    let wanted = format!("Basic {}", STANDARD.encode(account));
    let said = request.headers().get(AUTHORIZATION);
    said.is_some_and(|said| said.as_bytes() == wanted.as_bytes())
}

/// The answer to who has not said who it is, or is nobody.
pub(super) fn unknown() -> Response<Full<Bytes>> {
    let mut response = respond(Err(UNAUTHORIZED));
    let how = HeaderValue::from_static("Basic realm=\"lab\"");
    response.headers_mut().insert(WWW_AUTHENTICATE, how);
    response
}

/// The answer to one request.
pub(super) fn answer(method: &Method, path: &str, images: &Images) -> Response<Full<Bytes>> {
    let found = match *method {
        Method::GET | Method::HEAD => find(path, images),
        _ => Err(UNSUPPORTED),
    };
    respond(found)
}

fn respond(found: Result<Found<'_>, Refusal>) -> Response<Full<Bytes>> {
    let (status, media_type, digest, body) = match found {
        Ok(Found::Text(text)) => (StatusCode::OK, "application/json", None, text.into()),
        Ok(Found::Blob(blob, media_type)) => {
            let bytes = Bytes::copy_from_slice(&blob.bytes);
            (StatusCode::OK, media_type, Some(&blob.digest), bytes)
        }
        Err(Refusal(status, code, message)) => {
            let errors = json!({ "errors": [{ "code": code, "message": message }] });
            (status, "application/json", None, errors.to_string().into())
        }
    };
    let mut response = Response::new(Full::new(body.clone()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CONTENT_LENGTH, body.len().into());
    headers.insert(
        "docker-distribution-api-version",
        HeaderValue::from_static("registry/2.0"),
    );
    if let Some(Ok(digest)) = digest.map(|digest| HeaderValue::from_str(digest)) {
        headers.insert("docker-content-digest", digest);
    }
    response
}

enum Found<'a> {
    Text(String),
    Blob(&'a Blob, &'static str),
}

fn find<'a>(path: &str, images: &'a Images) -> Result<Found<'a>, Refusal> {
    let rest = path.strip_prefix("/v2").ok_or(NO_SUCH_PLACE)?;
    if rest.trim_matches('/').is_empty() {
        return Ok(Found::Text("{}".to_owned()));
    }
    // Repository names have slashes in them, references and digests have none.
    let (rest, reference) = rest.rsplit_once('/').ok_or(NO_SUCH_PLACE)?;
    let (name, kind) = rest.rsplit_once('/').ok_or(NO_SUCH_PLACE)?;
    if !["manifests", "blobs", "tags"].contains(&kind) {
        return Err(NO_SUCH_PLACE);
    }
    let image = images
        .iter()
        .find(|image| name.strip_prefix('/') == Some(image.repository))
        .ok_or(NAME_UNKNOWN)?;
    match kind {
        "manifests" => manifest(image, reference)
            .map(|blob| Found::Blob(blob, blob.media_type))
            .ok_or(MANIFEST_UNKNOWN),
        "blobs" => all(image)
            .find(|blob| blob.digest == reference)
            .map(|blob| Found::Blob(blob, "application/octet-stream"))
            .ok_or(BLOB_UNKNOWN),
        _ if reference == "list" => {
            let tags = json!({ "name": image.repository, "tags": [image.tag] });
            Ok(Found::Text(tags.to_string()))
        }
        _ => Err(NO_SUCH_PLACE),
    }
}

fn manifest<'a>(image: &'a Image, reference: &str) -> Option<&'a Blob> {
    if reference == image.tag {
        return Some(&image.index);
    }
    std::iter::once(&image.index)
        .chain(&image.manifests)
        .find(|blob| blob.digest == reference)
}

fn all(image: &Image) -> impl Iterator<Item = &Blob> {
    std::iter::once(&image.index)
        .chain(&image.manifests)
        .chain(&image.configs)
}
