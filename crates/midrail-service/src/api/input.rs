//! What requests carry, read strictly: what is not known is an error that says where.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::Uri;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::IntoResponse;
use midrail::store::MAX_PAGE;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::problem::{HandlerResult, Problem};

/// Items of a page where nothing else is asked for.
const DEFAULT_PAGE: usize = 100;

/// The bytes of a JSON body.
pub(crate) struct JsonBytes(pub(crate) Bytes);

impl FromRequest<App> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let media =
            request.headers().get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        let is_json = media.eq_ignore_ascii_case("application/json")
            || (media.starts_with("application/") && media.ends_with("+json"));
        if !is_json {
            return Err(
                Problem::wrong_media("the body has to be JSON").help("send `Content-Type: application/json`")
            );
        }
        let limit = app.config.limits.body;
        let told = request
            .headers()
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if told.is_some_and(|told| usize::try_from(told).is_ok_and(|told| told > limit)) {
            return Err(too_large(limit));
        }
        match Bytes::from_request(request, app).await {
            Ok(bytes) if bytes.len() > limit => Err(too_large(limit)),
            Ok(bytes) => Ok(JsonBytes(bytes)),
            Err(error) if error.clone_status() == 413 => Err(too_large(limit)),
            Err(error) => Err(Problem::malformed(format!("the body could not be read: {error}"))),
        }
    }
}

trait Status {
    fn clone_status(&self) -> u16;
}

impl Status for axum::extract::rejection::BytesRejection {
    fn clone_status(&self) -> u16 {
        self.status().as_u16()
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::too_large(format!("the body is larger than {limit} bytes"))
}

/// A JSON body of a type.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let JsonBytes(bytes) = JsonBytes::from_request(request, app).await?;
        parse(&bytes).map(Body)
    }
}

/// A value from JSON, or where and why it is none.
pub(crate) fn parse<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> HandlerResult<T> {
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Problem::invalid(error.to_string()),
        _ => Problem::malformed(format!("the body is not JSON: {error}")),
    })
}

/// A query of a type, or what is wrong with it.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> axum::extract::FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, _: &App) -> Result<Self, Problem> {
        // The project was heeded before: no route has to know of it.
        let query = parts.uri.query().unwrap_or_default();
        let own: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("project=")).collect();
        let own: Uri = format!("/?{}", own.join("&"))
            .parse()
            .map_err(|_| Problem::malformed("the query cannot be read"))?;
        match axum::extract::Query::<T>::try_from_uri(&own) {
            Ok(axum::extract::Query(value)) => Ok(Query(value)),
            Err(error) => Err(Problem::malformed(error.body_text())),
        }
    }
}

/// A part of the place that is named in the path: the name of a session, the number of a record.
pub(crate) struct Named<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> axum::extract::FromRequestParts<App> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, app: &App) -> Result<Self, Problem> {
        match axum::extract::Path::<T>::from_request_parts(parts, app).await {
            Ok(axum::extract::Path(value)) => Ok(Named(value)),
            Err(error) => Err(Problem::malformed(error.body_text())),
        }
    }
}

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub(crate) struct Page<T> {
    /// The items.
    pub(crate) items: Vec<T>,
    /// What to give as `after` for the page that follows. Absent: there is nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// The size of a page: as asked for, and no more than there is on one.
pub(crate) fn page_size(asked: Option<usize>) -> HandlerResult<usize> {
    match asked {
        None => Ok(DEFAULT_PAGE),
        Some(size @ 1..=MAX_PAGE) => Ok(size),
        Some(_) => Err(Problem::malformed(format!("`limit` is 1 to {MAX_PAGE}"))),
    }
}

/// A text that may not be empty nor endless.
pub(crate) fn check_length(name: &str, text: &str, most: usize) -> HandlerResult<()> {
    match text.len() {
        1.. if text.len() <= most => Ok(()),
        _ => Err(Problem::invalid(format!("`{name}` has 1 to {most} bytes"))),
    }
}

/// The answer to a place that is none.
pub(crate) async fn not_found() -> impl IntoResponse {
    Problem::not_found("there is nothing at this place").help("GET /v1/openapi.json tells what there is")
}
