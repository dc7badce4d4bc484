//! Computes the response to a registry request, without I/O.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use crate::containers::images::{Blob, Image, Images};

/// Status, error code and message of the distribution specification.
struct ApiError(StatusCode, &'static str, &'static str);

const UNSUPPORTED: ApiError = ApiError(
    StatusCode::METHOD_NOT_ALLOWED,
    "UNSUPPORTED",
    "this registry is read-only",
);
const PATH_UNKNOWN: ApiError = ApiError(StatusCode::NOT_FOUND, "UNSUPPORTED", "path not found");
const NAME_UNKNOWN: ApiError = ApiError(
    StatusCode::NOT_FOUND,
    "NAME_UNKNOWN",
    "repository name not known to registry",
);
const MANIFEST_UNKNOWN: ApiError = ApiError(
    StatusCode::NOT_FOUND,
    "MANIFEST_UNKNOWN",
    "manifest unknown to registry",
);
const BLOB_UNKNOWN: ApiError = ApiError(
    StatusCode::NOT_FOUND,
    "BLOB_UNKNOWN",
    "blob unknown to registry",
);

const UNAUTHORIZED: ApiError = ApiError(
    StatusCode::UNAUTHORIZED,
    "UNAUTHORIZED",
    "authentication required",
);

/// `credentials` is `user:password`.
pub(super) fn is_authorized<B>(request: &Request<B>, credentials: &str) -> bool {
    let expected = format!("Basic {}", STANDARD.encode(credentials));
    let header = request.headers().get(AUTHORIZATION);
    header.is_some_and(|header| header.as_bytes() == expected.as_bytes())
}

pub(super) fn unauthorized() -> Response<Full<Bytes>> {
    let mut response = into_response(Err(UNAUTHORIZED));
    let challenge = HeaderValue::from_static("Basic realm=\"lab\"");
    response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    response
}

pub(super) fn respond(method: &Method, path: &str, images: &Images) -> Response<Full<Bytes>> {
    let found = match *method {
        Method::GET | Method::HEAD => find(path, images),
        _ => Err(UNSUPPORTED),
    };
    into_response(found)
}

fn into_response(found: Result<Found<'_>, ApiError>) -> Response<Full<Bytes>> {
    let (status, media_type, digest, body) = match found {
        Ok(Found::Text(text)) => (StatusCode::OK, "application/json", None, text.into()),
        Ok(Found::Blob(blob, media_type)) => {
            let bytes = Bytes::copy_from_slice(&blob.bytes);
            (StatusCode::OK, media_type, Some(&blob.digest), bytes)
        }
        Err(ApiError(status, code, message)) => {
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

fn find<'a>(path: &str, images: &'a Images) -> Result<Found<'a>, ApiError> {
    let rest = path.strip_prefix("/v2").ok_or(PATH_UNKNOWN)?;
    if rest.trim_matches('/').is_empty() {
        return Ok(Found::Text("{}".to_owned()));
    }
    // Repository names may contain slashes, references and digests may not.
    let (rest, reference) = rest.rsplit_once('/').ok_or(PATH_UNKNOWN)?;
    let (name, kind) = rest.rsplit_once('/').ok_or(PATH_UNKNOWN)?;
    if !["manifests", "blobs", "tags"].contains(&kind) {
        return Err(PATH_UNKNOWN);
    }
    let image = images
        .iter()
        .find(|image| name.strip_prefix('/') == Some(image.repository))
        .ok_or(NAME_UNKNOWN)?;
    match kind {
        "manifests" => manifest(image, reference)
            .map(|blob| Found::Blob(blob, blob.media_type))
            .ok_or(MANIFEST_UNKNOWN),
        "blobs" => all_blobs(image)
            .find(|blob| blob.digest == reference)
            .map(|blob| Found::Blob(blob, "application/octet-stream"))
            .ok_or(BLOB_UNKNOWN),
        _ if reference == "list" => {
            let tags = json!({ "name": image.repository, "tags": [image.tag] });
            Ok(Found::Text(tags.to_string()))
        }
        _ => Err(PATH_UNKNOWN),
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

fn all_blobs(image: &Image) -> impl Iterator<Item = &Blob> {
    std::iter::once(&image.index)
        .chain(&image.manifests)
        .chain(&image.configs)
}
