//! Inputs of handlers, read strictly: an unknown or invalid field is an error that names it.

use axum::body::{Body as RequestBody, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;
use midrail::store::MAX_PAGE;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::api::openapi::{Content, Operation};
use crate::app::App;
use crate::problem::{HandlerResult, Problem};

/// The default number of items of a page.
const DEFAULT_PAGE: usize = 100;

/// An input of a handler, as the OpenAPI document describes it.
pub(crate) trait Input: Sized + Send + 'static {
    /// Reads the input from a request.
    fn read(
        parts: &mut Parts,
        body: &mut RequestBody,
        app: &App,
    ) -> impl Future<Output = HandlerResult<Self>> + Send;

    /// Adds the input to an operation.
    fn describe(_: &mut Operation) {}
}

impl Input for () {
    async fn read(_: &mut Parts, _: &mut RequestBody, _: &App) -> HandlerResult<Self> {
        Ok(())
    }
}

impl Input for Bytes {
    async fn read(parts: &mut Parts, body: &mut RequestBody, app: &App) -> HandlerResult<Self> {
        let request = Request::from_parts(parts.clone(), std::mem::take(body));
        let bytes = Bytes::from_request(request, app).await;
        bytes.map_err(|error| Problem::malformed(format!("the body could not be read: {error}")))
    }
}

impl Input for App {
    async fn read(_: &mut Parts, _: &mut RequestBody, app: &App) -> HandlerResult<Self> {
        Ok(app.clone())
    }
}

impl<A: Input, B: Input> Input for (A, B) {
    async fn read(parts: &mut Parts, body: &mut RequestBody, app: &App) -> HandlerResult<Self> {
        Ok((A::read(parts, body, app).await?, B::read(parts, body, app).await?))
    }

    fn describe(operation: &mut Operation) {
        A::describe(operation);
        B::describe(operation);
    }
}

/// An input of a handler that is not typed.
pub(crate) struct Read<I>(pub(crate) I);

impl<I: Input> FromRequest<App> for Read<I> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (mut parts, mut body) = request.into_parts();
        I::read(&mut parts, &mut body, app).await.map(Read)
    }
}

/// The bytes of a JSON body.
pub(crate) struct JsonBytes(pub(crate) Bytes);

impl FromRequest<App> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let media = media_type(request.headers());
        let is_json = media.eq_ignore_ascii_case("application/json")
            || (media.starts_with("application/") && media.ends_with("+json"));
        if !is_json {
            return Err(
                Problem::wrong_media("the body has to be JSON").help("send `Content-Type: application/json`")
            );
        }
        let limit = app.config.limits.body;
        let too_large = || Problem::too_large(format!("the body is larger than {limit} bytes"));
        let length =
            request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > limit) {
            return Err(too_large());
        }
        match Bytes::from_request(request, app).await {
            Ok(bytes) if bytes.len() <= limit => Ok(JsonBytes(bytes)),
            Err(error) if error.status() != StatusCode::PAYLOAD_TOO_LARGE => {
                Err(Problem::malformed(format!("the body could not be read: {error}")))
            }
            _ => Err(too_large()),
        }
    }
}

/// The media type of a body, without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let media = headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    media.split(';').next().unwrap_or_default().trim()
}

/// A JSON body of a type.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Input for Body<T> {
    async fn read(parts: &mut Parts, body: &mut RequestBody, app: &App) -> HandlerResult<Self> {
        let request = Request::from_parts(parts.clone(), std::mem::take(body));
        let JsonBytes(bytes) = JsonBytes::from_request(request, app).await?;
        parse(&bytes).map(Body)
    }

    fn describe(operation: &mut Operation) {
        operation.body = Some(Content::json::<T>());
    }
}

/// Parses JSON. The problem says where and why it is invalid.
pub(crate) fn parse<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> HandlerResult<T> {
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Problem::invalid(error.to_string()),
        _ => Problem::malformed(format!("the body is not JSON: {error}")),
    })
}

/// The query of a request.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Input for Query<T> {
    async fn read(parts: &mut Parts, _: &mut RequestBody, _: &App) -> HandlerResult<Self> {
        // The project was read before; routes do not declare it.
        let query = parts.uri.query().unwrap_or_default();
        let own: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("project=")).collect();
        let own: Uri =
            format!("/?{}", own.join("&")).parse().map_err(|_| Problem::malformed("the query is invalid"))?;
        match axum::extract::Query::<T>::try_from_uri(&own) {
            Ok(axum::extract::Query(value)) => Ok(Query(value)),
            Err(error) => Err(Problem::malformed(error.body_text())),
        }
    }

    fn describe(operation: &mut Operation) {
        operation.takes_query::<T>();
    }
}

/// The parameter in the path: the id of a session, the number of a record.
pub(crate) struct Named<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Input for Named<T> {
    async fn read(parts: &mut Parts, _: &mut RequestBody, app: &App) -> HandlerResult<Self> {
        match axum::extract::Path::<T>::from_request_parts(parts, app).await {
            Ok(axum::extract::Path(value)) => Ok(Named(value)),
            Err(error) => Err(Problem::malformed(error.body_text())),
        }
    }

    fn describe(operation: &mut Operation) {
        operation.takes_path::<T>();
    }
}

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub(crate) struct Page<T> {
    /// The items.
    pub(crate) items: Vec<T>,
    /// The value of `after` for the next page. Absent: this is the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// The size of a page, within its limits.
pub(crate) fn page_size(limit: Option<usize>) -> HandlerResult<usize> {
    match limit {
        None => Ok(DEFAULT_PAGE),
        Some(size @ 1..=MAX_PAGE) => Ok(size),
        Some(_) => Err(Problem::malformed(format!("`limit` is 1 to {MAX_PAGE}"))),
    }
}

/// Checks that a text is neither empty nor too long.
pub(crate) fn check_length(name: &str, text: &str, most: usize) -> HandlerResult<()> {
    if (1..=most).contains(&text.len()) {
        Ok(())
    } else {
        Err(Problem::invalid(format!("`{name}` has 1 to {most} bytes")))
    }
}

/// The answer to a path without a route.
pub(crate) async fn not_found() -> impl IntoResponse {
    Problem::not_found("there is no such resource").help("GET /v1/openapi.json lists the operations")
}
