//! One request over HTTP, and what can be wrong with it. Keys go into headers here and nowhere else.

use std::error::Error as _;
use std::io::{self, Read};
use std::time::Duration;

use midrail_guardrails::{Address, Headers, HttpMethod, Piece, Variable, is_loopback};
use serde_json::Value;
use ureq::http::{self, HeaderMap};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Error};

use super::wire::{Again, Call, Lookup, Trouble, is_too_deep, shown};
use crate::said_once::SaidOnce;

/// How long making a connection may take, whatever else is allowed.
const CONNECT: Duration = Duration::from_secs(5);

/// The longest request, in bytes.
const MAX_REQUEST: usize = 16 << 20;

/// Values of variables shorter than this are no secrets that could be told from other text.
const LEAST_SECRET: usize = 8;

/// The variable that names the file of the certificates that are trusted, where a pack does not.
pub(super) const CA_FILE: &str = "MIDRAIL_CA_FILE";

/// The longest file of certificates, in bytes.
const MAX_CA_FILE: u64 = 4 << 20;

/// How such a file begins its parts.
const PEM_BEGINS: &[u8] = b"-----BEGIN ";

/// How a certificate becomes one.
const PEM: &str = "`openssl x509 -inform der -in FILE -out FILE.pem` makes one of a binary certificate";

/// A client with connections of its own, which trusts the certificates of a file, or else the well-known authorities.
/// Redirects are not followed: a question goes where the pack says.
pub(super) fn agent(ca_file: Option<&str>) -> Result<Agent, String> {
    let roots = ca_file.map_or(Ok(RootCerts::WebPki), trusted)?;
    let config = Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(CONNECT))
        .timeout_resolve(Some(CONNECT))
        .user_agent(concat!("midrail/", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(Agent::new_with_config(config))
}

/// The certificates of a file, and no others.
fn trusted(path: &str) -> Result<RootCerts, String> {
    let wrong = |what: String| {
        format!("the certificates in `{path}` cannot be used: {what}; check `ca_file` or `{CA_FILE}`")
    };
    let mut pem = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_CA_FILE + 1).read_to_end(&mut pem));
    read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => wrong("there is no such file".to_owned()),
        io::ErrorKind::IsADirectory => wrong("it is a folder, and has to be a PEM file".to_owned()),
        io::ErrorKind::PermissionDenied => wrong("it may not be read by who runs Midrail".to_owned()),
        _ => wrong(error.to_string()),
    })?;
    if u64::try_from(pem.len()).is_ok_and(|length| length > MAX_CA_FILE) {
        return Err(wrong("there are more than 4 MB".to_owned()));
    }
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        match item {
            Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
            // A key has no business there, and is not read.
            Ok(_) => {}
            Err(_) => return Err(wrong(format!("it is no PEM file, or a broken one ({PEM})"))),
        }
    }
    // What has no such part is something else altogether, such as a certificate in its binary form.
    let is_pem = pem.windows(PEM_BEGINS.len()).any(|window| window == PEM_BEGINS);
    match certificates.is_empty() {
        true if is_pem => {
            Err(wrong("there is no certificate in it, only other things such as keys".to_owned()))
        }
        true => Err(wrong(format!("there is no certificate in it, it is no PEM file ({PEM})"))),
        false => Ok(RootCerts::new_with_certs(&certificates)),
    }
}

/// Headers with the values of their variables.
pub(super) struct Filled {
    headers: Vec<(String, String)>,
    /// What must not come back, in an answer or in an error.
    secrets: Vec<String>,
}

impl Filled {
    /// Reads the variables that the headers name.
    pub(super) fn of(headers: &Headers, lookup: Lookup) -> Result<Self, String> {
        let mut filled = Filled { headers: Vec::new(), secrets: Vec::new() };
        for (name, pieces) in headers.iter() {
            let mut value = String::new();
            for piece in pieces {
                match piece {
                    Piece::Words(words) => value.push_str(words),
                    Piece::Variable(variable) => value.push_str(&filled.read(variable, lookup)?),
                }
            }
            filled.headers.push((name.to_owned(), value));
        }
        Ok(filled)
    }

    /// Adds a header that holds a key.
    pub(super) fn key(
        &mut self,
        name: &str,
        before: &str,
        variable: Option<&Variable>,
        lookup: Lookup,
    ) -> Result<(), String> {
        if let Some(variable) = variable {
            let key = self.read(variable.as_str(), lookup)?;
            self.headers.push((name.to_owned(), format!("{before}{key}")));
        }
        Ok(())
    }

    /// Adds a header that is no secret.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    fn read(&mut self, variable: &str, lookup: Lookup) -> Result<String, String> {
        let value = lookup(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let Some(value) = value else {
            return Err(format!(
                "the environment variable `{variable}` is not set; set it where Midrail runs"
            ));
        };
        if !value.chars().all(|c| (' '..='~').contains(&c)) {
            return Err(format!("the environment variable `{variable}` holds what no header can"));
        }
        if value.len() >= LEAST_SECRET {
            self.secrets.push(value.clone());
        }
        Ok(value)
    }

    fn hide(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "…"))
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        self.secrets.iter().any(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
    }
}

/// Sends a value and reads the answer.
pub(super) fn send(
    call: &Call<'_>,
    address: &Address,
    method: HttpMethod,
    filled: &Filled,
    body: &Value,
) -> Result<Value, Trouble> {
    let host = address.host();
    let late = || {
        let limit = call.limit();
        let message =
            format!("`{host}` did not answer within {limit:?}; see that it is up, or raise `timeout`");
        Trouble::new(message, Again::Never)
    };
    let body = serde_json::to_vec(body).map_err(|error| Trouble::new(error.to_string(), Again::Never))?;
    if body.len() > MAX_REQUEST {
        let message =
            format!("the question to `{host}` has more than 16 MB; send fewer parts, or lower `max_text`");
        return Err(Trouble::new(message, Again::Never));
    }
    let stopped = || Trouble::new(super::ticket::CANCELLED, Again::Never);
    let ca_file = call.settings.ca_file.clone().or_else(|| (call.lookup)(CA_FILE));
    let ca_file = ca_file.as_deref().filter(|file| !file.trim().is_empty());
    let agent = call.stop.agent(ca_file).map_err(|why| Trouble::new(why, Again::Never))?;
    let agent = agent.ok_or_else(stopped)?;
    let method = match method {
        HttpMethod::Post => http::Method::POST,
        HttpMethod::Put => http::Method::PUT,
    };
    let mut request = http::Request::builder().method(method).uri(address.as_str());
    request = request.header("content-type", "application/json").header("accept", "application/json");
    for (name, value) in &filled.headers {
        request = request.header(name, value);
    }
    let request = request.body(body).map_err(|_| {
        Trouble::new(format!("the address or a header for `{host}` cannot be sent; check them"), Again::Never)
    })?;

    let left = call.left().ok_or_else(late)?;
    let request = agent.configure_request(request).timeout_global(Some(left));
    // A proxy of the environment is for what leaves this machine.
    let request = if address.is_loopback() { request.proxy(None) } else { request };
    let outcome = agent.run(request.build()).and_then(|response| {
        let (parts, body) = response.into_parts();
        Ok((parts.status.as_u16(), parts.headers, read(body, call.settings.max_answer_bytes)?))
    });
    let (status, headers, bytes) = match outcome {
        _ if call.stop.is_raised() => return Err(stopped()),
        Ok(read) => read,
        Err(Error::Timeout(ureq::Timeout::Global)) => return Err(late()),
        Err(error) => {
            let Trouble { message, again } = failed(host, &error);
            return Err(Trouble::new(filled.hide(&message), again));
        }
    };
    let bytes = bytes.ok_or_else(|| {
        let limit = call.settings.max_answer_bytes;
        let message = format!("`{host}` answered with more than {limit} bytes; raise `max_answer_bytes`");
        Trouble::new(message, Again::Never)
    })?;
    if !(200..300).contains(&status) {
        let Trouble { message, again } = refused(host, status, &headers, &bytes);
        return Err(Trouble::new(filled.hide(&message), again));
    }
    if filled.is_in(&bytes) {
        let message =
            format!("`{host}` sent the key back in its answer, of which nothing is kept; check the `url`");
        return Err(Trouble::new(message, Again::Never));
    }
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
        let message = format!("`{host}` answered with something that is no JSON; check the `url`");
        Trouble::new(message, Again::Soon)
    })?;
    if let Err(error) = serde_json::from_slice::<SaidOnce>(&bytes) {
        // Which of the two counts is for whoever reads it, so that neither does.
        let what = error.to_string();
        let what = filled.hide(what.split(" at line ").next().unwrap_or_default());
        let message =
            format!("`{host}` answered with JSON that says one thing twice ({what}); mend the endpoint");
        return Err(Trouble::new(message, Again::Never));
    }
    if is_too_deep(&value) {
        let message = format!("`{host}` answered with JSON that is nested too deep");
        return Err(Trouble::new(message, Again::Never));
    }
    Ok(value)
}

/// Posts JSON, and gives the status of the answer. The rest of it is not read.
pub(crate) fn post(address: &str, body: &str, within: Duration) -> Result<u16, String> {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let ca_file = std::env::var(CA_FILE).ok();
    let agent = agent(ca_file.as_deref().filter(|file| !file.trim().is_empty()))?;
    let request = http::Request::post(address).header("content-type", "application/json").body(body);
    let request = request.map_err(|_| format!("the address of `{host}` cannot be asked; check it"))?;
    let request = agent.configure_request(request).timeout_global(Some(within));
    let request = if is_loopback(host) { request.proxy(None) } else { request };
    match agent.run(request.build()) {
        Ok(response) => Ok(response.status().as_u16()),
        Err(Error::Timeout(_)) => Err(format!("`{host}` did not answer within {} s", within.as_secs())),
        Err(error) => Err(failed(host, &error).message),
    }
}

/// Reads an answer. `None`: it is longer than allowed.
fn read(body: Body, limit: usize) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    match body.into_reader().take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok((bytes.len() <= limit).then_some(bytes)),
        Err(error) => Err(Error::from(error)),
    }
}

/// What is told where no answer came.
fn failed(host: &str, error: &Error) -> Trouble {
    let (what, again) = match error {
        Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            ("cannot be reached; check its address, and the network".to_owned(), Again::Soon)
        }
        Error::Timeout(_) => ("did not answer in time; see that it is up".to_owned(), Again::Soon),
        Error::HostNotFound => ("is not known under this name; check its address".to_owned(), Again::Soon),
        Error::Io(error) if is_tls(error) => {
            (format!("has no certificate that can be trusted ({error}); check its address"), Again::Never)
        }
        Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            ("refuses connections; see that it is running, and check the port".to_owned(), Again::Soon)
        }
        Error::Io(error) => (format!("broke the connection off ({error}); see that it is up"), Again::Soon),
        Error::Tls(_) | Error::Rustls(_) => {
            (format!("has no certificate that can be trusted ({error}); check its address"), Again::Never)
        }
        Error::Protocol(_) | Error::LargeResponseHeader(..) | Error::BodyStalled => {
            ("does not answer in HTTP; check its address".to_owned(), Again::Soon)
        }
        other => (format!("cannot be asked: {other}"), Again::Never),
    };
    Trouble::new(format!("`{host}` {what}"), again)
}

fn is_tls(error: &io::Error) -> bool {
    let inner = error.get_ref().map(|inner| inner.to_string()).unwrap_or_default();
    error.kind() == io::ErrorKind::InvalidData
        && (inner.contains("certificate")
            || error.source().is_some_and(|it| it.to_string().contains("certificate")))
}

/// What is told where somebody answered, and it is no answer.
fn refused(host: &str, status: u16, headers: &HeaderMap, bytes: &[u8]) -> Trouble {
    let (what, again) = match status {
        300..=399 => {
            let to = headers.get("location").and_then(|to| to.to_str().ok()).unwrap_or_default();
            let to = to.split_once("://").map_or("", |(_, rest)| rest);
            let to = shown(to.split(['/', '?', '#']).next().unwrap_or_default(), 100);
            let to = if to.is_empty() { String::new() } else { format!(" to `{to}`") };
            (format!("a redirect{to}, which is not followed; give the final `url`"), Again::Never)
        }
        // What is said about a key may hold the key.
        401 | 403 => ("it does not accept the key; check `key_env` or `headers`".to_owned(), Again::Never),
        404 => (told("there is nothing there; check the `url` and the `model`", bytes), Again::Never),
        429 => {
            ("it is asked too often; lower `max_concurrent`, or raise its limit".to_owned(), later(headers))
        }
        408 | 409 | 425 => (told("it may answer later", bytes), Again::Soon),
        500.. => ("it has a problem of its own; see that it is well".to_owned(), later(headers)),
        _ => (told("it does not take the question; check the settings", bytes), Again::Never),
    };
    Trouble::new(format!("`{host}` answered {status}: {what}"), again)
}

/// A hint with the words of the one who was asked, where there are any.
fn told(hint: &str, bytes: &[u8]) -> String {
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let error = value.get("error").unwrap_or(&value);
    let words = error.get("message").unwrap_or(error).as_str().unwrap_or_default();
    let words = shown(words, 200);
    match words.is_empty() || !midrail_detect::secrets::scan(&words).is_empty() {
        true => hint.to_owned(),
        false => format!("{hint} (it says: {words})"),
    }
}

fn later(headers: &HeaderMap) -> Again {
    let seconds =
        headers.get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
    match seconds {
        Some(0) => Again::Now,
        Some(seconds) => Again::After(Duration::from_secs(seconds)),
        None => Again::Soon,
    }
}
