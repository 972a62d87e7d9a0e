//! The messages of `envoy.service.auth.v3`, with the fields that Midrail reads or writes. Others are skipped.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The code of a denial in `google.rpc.Status`.
const PERMISSION_DENIED: i32 = 7;

/// The code of an error of the gateway in JSON-RPC.
const REFUSED: i32 = -32_001;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) attributes: Option<Attributes>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Attributes {
    #[prost(message, optional, tag = "4")]
    pub(super) request: Option<RequestAttributes>,
    #[prost(btree_map = "string, string", tag = "10")]
    pub(super) context_extensions: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RequestAttributes {
    #[prost(message, optional, tag = "2")]
    pub(super) http: Option<HttpRequest>,
}

/// The request of the client.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HttpRequest {
    #[prost(string, tag = "2")]
    pub(super) method: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(super) headers: BTreeMap<String, String>,
    #[prost(string, tag = "11")]
    pub(super) body: String,
    #[prost(bytes = "vec", tag = "12")]
    pub(super) raw_body: Vec<u8>,
}

impl HttpRequest {
    /// A header. Envoy writes their names in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// The body, in the field that Envoy is configured to use.
    pub(super) fn content(&self) -> &[u8] {
        if self.raw_body.is_empty() { self.body.as_bytes() } else { &self.raw_body }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<Status>,
    #[prost(message, optional, tag = "2")]
    denied: Option<DeniedResponse>,
    #[prost(message, optional, tag = "3")]
    allowed: Option<AllowedResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DeniedResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<HttpStatus>,
    #[prost(message, repeated, tag = "2")]
    headers: Vec<HeaderOption>,
    #[prost(string, tag = "3")]
    body: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HttpStatus {
    #[prost(int32, tag = "1")]
    code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HeaderOption {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Header {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AllowedResponse {}

impl CheckResponse {
    /// The request may continue.
    pub(super) fn allowed() -> Self {
        CheckResponse { status: Some(Status::default()), denied: None, allowed: Some(AllowedResponse {}) }
    }

    /// The client receives an error of JSON-RPC. `id`: of its message.
    pub(super) fn denied(reason: &str, id: Option<Value>) -> Self {
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": REFUSED, "message": reason}});
        let media = Header { key: "content-type".to_owned(), value: "application/json".to_owned() };
        let denied = DeniedResponse {
            status: Some(HttpStatus { code: 403 }),
            headers: vec![HeaderOption { header: Some(media) }],
            body: error.to_string(),
        };
        let status = Status { code: PERMISSION_DENIED, message: reason.to_owned() };
        CheckResponse { status: Some(status), denied: Some(denied), allowed: None }
    }
}
