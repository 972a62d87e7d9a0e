//! Style sheet, scripts and icon, which are part of the program. Their URLs contain a digest of their content, so that
//! browsers can cache them.

use std::sync::LazyLock;

use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// Name, media type and content.
const ASSETS: [(&str, &str, &[u8]); 5] = [
    ("console.css", "text/css; charset=utf-8", include_bytes!("assets/console.css")),
    ("console.js", "text/javascript; charset=utf-8", include_bytes!("assets/console.js")),
    ("htmx.min.js", "text/javascript; charset=utf-8", include_bytes!("assets/htmx.min.js")),
    ("htmx-LICENSE.txt", "text/plain; charset=utf-8", include_bytes!("assets/htmx-LICENSE.txt")),
    ("icon.svg", "image/svg+xml", include_bytes!("assets/icon.svg")),
];

/// A digest of all of them.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut context = Sha256::new();
    for (_, _, content) in ASSETS {
        context.update(content);
    }
    midrail_core::hex::encode(&context.finalize()).chars().take(16).collect()
});

/// The path of an asset.
pub(crate) fn at(name: &str) -> String {
    format!("/assets/{name}?v={}", *VERSION)
}

pub(crate) async fn serve(Path(name): Path<String>, RawQuery(query): RawQuery) -> Response {
    let is_named = query.is_some_and(|query| query == format!("v={}", *VERSION));
    // Without the digest, the asset is not cached.
    let kept = if is_named { "public, max-age=31536000, immutable" } else { "no-cache" };
    match ASSETS.into_iter().find(|(known, ..)| *known == name) {
        Some((_, kind, content)) => ([(CONTENT_TYPE, kind), (CACHE_CONTROL, kept)], content).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
