//! HTTP connections, and the certificates that they trust.

use std::io::{self, Read};
use std::time::Duration;

use crate::error::{Available, Unavailable};
use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::typestate::AgentScope;

/// The timeout of making a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// The variable that names the file of the certificates that are trusted, where a pack does not.
pub(crate) const CA_FILE: &str = "MIDRAIL_CA_FILE";

/// The longest file of certificates, in bytes.
const MAX_CA_FILE: u64 = 4 << 20;

/// How such a file begins its parts.
const PEM_BEGINS: &[u8] = b"-----BEGIN ";

/// How a certificate becomes one.
const PEM: &str = "`openssl x509 -inform der -in FILE -out FILE.pem` makes one of a binary certificate";

/// The connections of a worker, and the file of the certificates that they trust.
#[derive(Default)]
pub(super) struct Connections(Option<(Agent, Option<String>)>);

impl Connections {
    /// Connections that trust the certificates of a file.
    pub(super) fn agent(&mut self, ca_file: Option<&str>) -> Available<Agent> {
        // A connection that was made under another trust is not used.
        if let Some((agent, trusted)) = &self.0
            && trusted.as_deref() == ca_file
        {
            return Ok(agent.clone());
        }
        let agent = agent(ca_file)?;
        self.0 = Some((agent.clone(), ca_file.map(str::to_owned)));
        Ok(agent)
    }

    /// Ends all requests on these connections.
    pub(super) fn close(self) {
        if let Some((agent, _)) = self.0 {
            agent.shutdown();
        }
    }
}

/// A client with connections of its own, which trusts the certificates of a file, or else the well-known authorities.
/// Redirects are not followed: a question goes only to the address in the pack.
pub(super) fn agent(ca_file: Option<&str>) -> Available<Agent> {
    Ok(Agent::new_with_config(config(ca_file)?.build()))
}

/// The settings of such a client.
pub(crate) fn config(ca_file: Option<&str>) -> Available<ConfigBuilder<AgentScope>> {
    let roots = ca_file.map_or(Ok(RootCerts::WebPki), trusted)?;
    Ok(Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(CONNECT))
        .timeout_resolve(Some(CONNECT))
        .user_agent(concat!("midrail/", env!("CARGO_PKG_VERSION"))))
}

/// The certificates of a file, and no others.
fn trusted(path: &str) -> Available<RootCerts> {
    let wrong = |problem: String| {
        Unavailable::new(format!(
            "the certificates in `{path}` cannot be used: {problem}; check `ca_file` or `{CA_FILE}`"
        ))
    };
    let mut pem = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_CA_FILE + 1).read_to_end(&mut pem));
    read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => wrong("there is no such file".to_owned()),
        io::ErrorKind::IsADirectory => wrong("it is a folder, and has to be a PEM file".to_owned()),
        io::ErrorKind::PermissionDenied => wrong("the user that runs Midrail may not read it".to_owned()),
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
    if !certificates.is_empty() {
        Ok(RootCerts::new_with_certs(&certificates))
    } else if is_pem {
        Err(wrong("there is no certificate in it, only other things such as keys".to_owned()))
    } else {
        Err(wrong(format!("there is no certificate in it, it is no PEM file ({PEM})")))
    }
}
