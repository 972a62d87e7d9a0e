//! One HTTP request, and the problems that it can have.

use std::error::Error as _;
use std::io::{self, Read};
use std::time::Duration;

use midrail_guardrails::{EndpointUrl, HttpMethod, is_loopback};
use serde_json::Value;
use ureq::http::{self, HeaderMap};
use ureq::{Body, Error};

use super::connection::{self, CA_FILE};
use super::question::CANCELLED;
use super::wire::{Call, RequestError, RequestHeaders, Retry, is_too_deep, shown};
use crate::error::{Available, Unavailable};
use crate::unique_keys::UniqueKeys;

/// The longest request, in bytes.
const MAX_REQUEST: usize = 16 << 20;

/// Sends a value and reads the answer.
pub(super) fn send(
    call: &Call<'_>,
    address: &EndpointUrl,
    method: HttpMethod,
    headers: &RequestHeaders,
    body: &Value,
) -> Result<Value, RequestError> {
    let host = address.host();
    let late = || {
        let limit = call.limit();
        format!("`{host}` did not answer within {limit:?}; see that it is up, or raise `timeout`")
    };
    let stopped = || CANCELLED.to_owned();
    let body = serde_json::to_vec(body).map_err(|error| error.to_string())?;
    if body.len() > MAX_REQUEST {
        let why = "has more than 16 MB; send fewer parts, or lower `max_text`";
        return Err(format!("the question to `{host}` {why}").into());
    }
    let ca_file = call.settings.ca_file.clone().or_else(|| (call.lookup)(CA_FILE));
    let ca_file = ca_file.as_deref().filter(|file| !file.trim().is_empty());
    let agent = call.stop.with_connections(|connections| connections.agent(ca_file)).ok_or_else(stopped)?;
    let agent = agent.map_err(|error| error.to_string())?;
    let method = match method {
        HttpMethod::Post => http::Method::POST,
        HttpMethod::Put => http::Method::PUT,
    };
    let mut request = http::Request::builder().method(method).uri(address.as_str());
    request = request.header("content-type", "application/json").header("accept", "application/json");
    for (name, value) in &headers.values {
        request = request.header(name, value);
    }
    let invalid = |_| format!("the address or a header for `{host}` cannot be sent; check them");
    let request = request.body(body).map_err(invalid)?;

    let left = call.left().ok_or_else(late)?;
    let request = agent.configure_request(request).timeout_global(Some(left));
    // A proxy of the environment is for what leaves this machine.
    let request = if address.is_loopback() { request.proxy(None) } else { request };
    let limit = call.settings.max_answer_bytes;
    let outcome = agent.run(request.build()).and_then(|response| {
        let (parts, body) = response.into_parts();
        Ok((parts, read(body, limit)?))
    });
    let (parts, bytes) = match outcome {
        _ if call.stop.is_raised() => return Err(stopped().into()),
        Ok(read) => read,
        Err(Error::Timeout(ureq::Timeout::Global)) => return Err(late().into()),
        Err(error) => return Err(failed(host, &error)),
    };
    let too_long = || format!("`{host}` answered with more than {limit} bytes; raise `max_answer_bytes`");
    let bytes = bytes.ok_or_else(too_long)?;
    if !parts.status.is_success() {
        return Err(refused(host, parts.status.as_u16(), &parts.headers, &bytes));
    }
    if headers.is_in(&bytes) {
        let why = "sent the key back in its answer, of which nothing is kept; check the `url`";
        return Err(format!("`{host}` {why}").into());
    }
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
        let message = format!("`{host}` answered with something that is no JSON; check the `url`");
        RequestError { message, retry: Retry::Soon }
    })?;
    if let Err(error) = serde_json::from_slice::<UniqueKeys>(&bytes) {
        // Readers disagree on which of the two counts, so neither does.
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        return Err(
            format!("`{host}` answered with JSON with a duplicate key ({what}); fix the endpoint").into()
        );
    }
    if is_too_deep(&value) {
        return Err(format!("`{host}` answered with JSON that is nested too deep").into());
    }
    Ok(value)
}

/// Posts JSON, and gives the status of the answer. The rest of it is not read.
pub(crate) fn post(address: &str, body: &str, within: Duration) -> Available<u16> {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let ca_file = std::env::var(CA_FILE).ok();
    let agent = connection::agent(ca_file.as_deref().filter(|file| !file.trim().is_empty()))?;
    let request = http::Request::post(address).header("content-type", "application/json").body(body);
    let request = request
        .map_err(|_| Unavailable::new(format!("the address of `{host}` cannot be called; check it")))?;
    let request = agent.configure_request(request).timeout_global(Some(within));
    let request = if is_loopback(host) { request.proxy(None) } else { request };
    match agent.run(request.build()) {
        Ok(response) => Ok(response.status().as_u16()),
        Err(Error::Timeout(_)) => {
            Err(Unavailable::new(format!("`{host}` did not answer within {} s", within.as_secs())))
        }
        Err(error) => Err(failed(host, &error).message.into()),
    }
}

/// Reads an answer. `None`: it is longer than allowed.
fn read(body: Body, limit: usize) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    body.into_reader().take(most).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

/// The problem without an answer.
fn failed(host: &str, error: &Error) -> RequestError {
    let (what, retry) = match error {
        Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            ("cannot be reached; check its address, and the network".to_owned(), Retry::Soon)
        }
        Error::Timeout(_) => ("did not answer in time; see that it is up".to_owned(), Retry::Soon),
        Error::HostNotFound => ("is not known under this name; check its address".to_owned(), Retry::Soon),
        Error::Io(error) if is_tls(error) => {
            (format!("has no certificate that can be trusted ({error}); check its address"), Retry::Never)
        }
        Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            ("refuses connections; see that it is running, and check the port".to_owned(), Retry::Soon)
        }
        Error::Io(error) => (format!("broke the connection off ({error}); see that it is up"), Retry::Soon),
        Error::Tls(_) | Error::Rustls(_) => {
            (format!("has no certificate that can be trusted ({error}); check its address"), Retry::Never)
        }
        Error::Protocol(_) | Error::LargeResponseHeader(..) | Error::BodyStalled => {
            ("does not answer in HTTP; check its address".to_owned(), Retry::Soon)
        }
        other => (format!("cannot be asked: {other}"), Retry::Never),
    };
    RequestError { message: format!("`{host}` {what}"), retry }
}

fn is_tls(error: &io::Error) -> bool {
    let inner = error.get_ref().map(|inner| inner.to_string()).unwrap_or_default();
    error.kind() == io::ErrorKind::InvalidData
        && (inner.contains("certificate")
            || error.source().is_some_and(|it| it.to_string().contains("certificate")))
}

/// The problem with an error status.
fn refused(host: &str, status: u16, headers: &HeaderMap, bytes: &[u8]) -> RequestError {
    let (what, retry) = match status {
        300..=399 => {
            let to = headers.get("location").and_then(|to| to.to_str().ok()).unwrap_or_default();
            let to = to.split_once("://").map_or("", |(_, rest)| rest);
            let to = shown(to.split(['/', '?', '#']).next().unwrap_or_default(), 100);
            let to = if to.is_empty() { String::new() } else { format!(" to `{to}`") };
            (format!("a redirect{to}, which is not followed; give the final `url`"), Retry::Never)
        }
        // A message about a key may contain the key.
        401 | 403 => ("it does not accept the key; check `key_env` or `headers`".to_owned(), Retry::Never),
        404 => (with_message("there is nothing there; check the `url` and the `model`", bytes), Retry::Never),
        429 => {
            ("it is asked too often; lower `max_concurrent`, or raise its limit".to_owned(), later(headers))
        }
        408 | 409 | 425 => (with_message("it may answer later", bytes), Retry::Soon),
        500.. => ("it has a problem of its own; see that it is well".to_owned(), later(headers)),
        _ => (with_message("it does not take the question; check the settings", bytes), Retry::Never),
    };
    RequestError { message: format!("`{host}` answered {status}: {what}"), retry }
}

/// A hint with the error message of the service, if it has one.
fn with_message(hint: &str, bytes: &[u8]) -> String {
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let error = value.get("error").unwrap_or(&value);
    let words = error.get("message").unwrap_or(error).as_str().unwrap_or_default();
    let words = shown(words, 200);
    if words.is_empty() || !midrail_scan::secrets::scan(&words).is_empty() {
        hint.to_owned()
    } else {
        format!("{hint} (it says: {words})")
    }
}

fn later(headers: &HeaderMap) -> Retry {
    let seconds =
        headers.get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
    match seconds {
        Some(0) => Retry::Now,
        Some(seconds) => Retry::After(Duration::from_secs(seconds)),
        None => Retry::Soon,
    }
}
