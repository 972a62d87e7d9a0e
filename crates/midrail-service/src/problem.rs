//! Problems: failed requests as `application/problem+json` (RFC 9457).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use midrail::pack::diagnostic::DiagnosticRecord;
use midrail::{EngineError, StoreError};
use schemars::JsonSchema;
use serde::Serialize;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// The kind of the problem, for programs.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// The kind in words.
    pub(crate) title: &'static str,
    /// The status of the answer.
    pub(crate) status: u16,
    /// The details of this request.
    pub(crate) detail: String,
    /// Advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
    /// Seconds after which to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_s: Option<u64>,
    /// The problems of packs, with their locations.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) problems: Box<[DiagnosticRecord]>,
}

/// The outcome of a handler.
pub(crate) type HandlerResult<T> = Result<T, Problem>;

macro_rules! problems {
    ($($(#[$doc:meta])* $make:ident = $kind:literal, $status:ident, $title:literal;)*) => {
        impl Problem {
            $($(#[$doc])* pub(crate) fn $make(detail: impl Into<String>) -> Self {
                Problem {
                    kind: concat!("urn:midrail:problem:", $kind),
                    title: $title,
                    status: StatusCode::$status.as_u16(),
                    detail: detail.into(),
                    ..Problem::default()
                }
            })*
        }
    };
}

problems! {
    /// The request cannot be understood.
    malformed = "malformed", BAD_REQUEST, "The request cannot be understood";
    /// The caller is not authenticated.
    unauthenticated = "unauthenticated", UNAUTHORIZED, "Authentication is required";
    /// The caller lacks the permission.
    forbidden = "forbidden", FORBIDDEN, "This is not allowed";
    /// Not found.
    not_found = "not-found", NOT_FOUND, "Not found";
    /// The method is not supported here.
    wrong_method = "wrong-method", METHOD_NOT_ALLOWED, "The method is not supported";
    /// The rest of the request did not arrive in time.
    too_late = "too-late", REQUEST_TIMEOUT, "The rest of the request did not arrive in time";
    /// The request conflicts with the current state.
    refused = "refused", CONFLICT, "The request conflicts with the current state";
    /// The body is too large.
    too_large = "too-large", PAYLOAD_TOO_LARGE, "The body is too large";
    /// The media type is not supported.
    wrong_media = "wrong-media", UNSUPPORTED_MEDIA_TYPE, "The media type is not supported";
    /// The content is invalid.
    invalid = "invalid", UNPROCESSABLE_ENTITY, "The content is invalid";
    /// Too many requests.
    too_many = "too-many-requests", TOO_MANY_REQUESTS, "Too many requests";
    /// Internal error.
    internal = "internal", INTERNAL_SERVER_ERROR, "Internal error";
    /// The store or the service is unavailable.
    unavailable = "unavailable", SERVICE_UNAVAILABLE, "The service is unavailable";
    /// The request timed out.
    too_slow = "too-slow", GATEWAY_TIMEOUT, "The request timed out";
}

impl Problem {
    /// The same, with advice.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, with the time after which to retry.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The same, with the problems of packs.
    pub(crate) fn problems(mut self, problems: Vec<DiagnosticRecord>) -> Self {
        self.problems = problems.into();
        self
    }

    /// The status of the answer.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = serde_json::to_string(&self).unwrap_or_default();
        let mut response =
            (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"midrail\""));
        }
        // The console renders it as a page.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Approval(why) => Problem::refused(why),
            EngineError::NotAllowed(why) => Problem::forbidden(why),
            EngineError::InvalidRequest(why) => Problem::invalid(why),
            EngineError::KeyReused => Problem::refused(error.to_string()),
            EngineError::WrongSession { .. }
            | EngineError::ReservedKind(_)
            | EngineError::TooDeep
            | EngineError::TooManyValues
            | EngineError::ArgumentsTooLarge
            | EngineError::NotSerializable(_) => Problem::invalid(error.to_string()),
            EngineError::Contended => Problem::unavailable(error.to_string()).retry_after(1),
            other => Problem::internal(other.to_string()),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        log::error!(error:%; "the store failed");
        match error {
            StoreError::Conflict { .. } | StoreError::Refused { .. } => Problem::refused(error.to_string()),
            StoreError::Decode { .. } | StoreError::Encode { .. } => Problem::internal(error.to_string()),
            // Callers do not learn the location of the store.
            _ => Problem::unavailable("the store is unavailable").retry_after(1),
        }
    }
}
