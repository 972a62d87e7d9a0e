//! Trusted hosts: a person trusts what is read from a host, and what is sent to it, for a limited time.

use std::time::Duration;

use jiff::SignedDuration;
use midrail_core::{TRUSTED_HOSTS, TrustedHost};
use midrail_scan::names;
use serde_json::{Value, json};

use crate::admin::event::{AdminEvent, Person, notice};
use crate::admin::handle::{Admin, Cell, Column, Resource};
use crate::error::{EngineError, EngineResult};

/// The most trusted hosts at a time.
const MAX_HOSTS: usize = 64;

impl Resource for TrustedHost {
    const TITLE: &'static str = "Trusted hosts";
    const EMPTY: &'static str = "No host is trusted for a limited time.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("host", 200, |trusted| Cell::Text(trusted.host.clone())),
        Column::new("until", 20, |trusted| Cell::Time(trusted.until)),
        Column::new("by", 60, |trusted| Cell::Text(trusted.by.clone())),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        Ok(admin.trusted_hosts()?.0)
    }
}

impl Admin<'_> {
    /// Trusts a host for a day at most. It replaces an earlier trust of the same host. Only a human operator or the first approver
    /// may do so.
    pub fn trust_host(&self, host: &str, duration: Duration, by: &Person) -> EngineResult<TrustedHost> {
        if !self.is_operator(by)? {
            let humans = self.engine.policy().authorities().humans.join(" or ");
            return Err(EngineError::not_allowed(format!(
                "`{}` may not trust a host; only a {humans} or the first approver may",
                by.name()
            )));
        }
        let host = plain_host(host)?;
        let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        if duration > TrustedHost::MAX_DURATION {
            let hours = TrustedHost::MAX_DURATION.as_hours();
            return Err(EngineError::invalid(format!(
                "a host is trusted for {hours} hours at most; a row of `labels` in a pack trusts it for longer"
            )));
        }
        let now = self.engine.now();
        let until = now
            .checked_add(duration)
            .map_err(|_| EngineError::invalid("the end of the trust is out of range"))?;
        let trusted = TrustedHost { host, by: by.name().to_owned(), since: now, until };
        let (mut hosts, version) = self.trusted_hosts()?;
        hosts.retain(|other| other.host != trusted.host);
        if hosts.len() >= MAX_HOSTS {
            return Err(EngineError::conflict(format!("{MAX_HOSTS} hosts are already trusted")));
        }
        hosts.push(trusted.clone());
        let message = format!("{} trusts {} until {until:.0}", trusted.by, trusted.host);
        self.write_trusted_hosts("host_trusted", &trusted, by.name(), &hosts, version, message)?;
        Ok(trusted)
    }

    /// Ends the trust in a host. Everyone may do so, because it only tightens the policy.
    pub fn distrust_host(&self, host: &str, by: &str) -> EngineResult<TrustedHost> {
        let host = plain_host(host)?;
        let (mut hosts, version) = self.trusted_hosts()?;
        let Some(at) = hosts.iter().position(|trusted| trusted.host == host) else {
            return Err(EngineError::conflict(format!("`{host}` is not trusted for a limited time")));
        };
        let ended = hosts.remove(at);
        let message = format!("{by} ended the trust in {host}");
        self.write_trusted_hosts("host_trust_ended", &ended, by, &hosts, version, message)?;
        Ok(ended)
    }

    /// The hosts that are trusted now, and the version of their slice.
    fn trusted_hosts(&self) -> EngineResult<(Vec<TrustedHost>, u64)> {
        let (slice, version) = self.slice(TRUSTED_HOSTS)?;
        let mut hosts = TrustedHost::all(slice.as_ref());
        hosts.retain(|trusted| trusted.is_active_at(self.engine.now()));
        Ok((hosts, version))
    }

    fn write_trusted_hosts(
        &self,
        name: &str,
        trusted: &TrustedHost,
        by: &str,
        hosts: &[TrustedHost],
        version: u64,
        message: String,
    ) -> EngineResult {
        let event = AdminEvent::new(name).with("trusted", json!(trusted)).with("by", by);
        let value: Option<Value> = (!hosts.is_empty()).then(|| json!(hosts));
        let notice = notice("human_operator", "flow", message, json!(trusted));
        self.change_at(event, (TRUSTED_HOSTS, version), value, vec![notice])
    }
}

/// A host as it is compared.
fn plain_host(text: &str) -> EngineResult<String> {
    let is_host = !text.contains(['/', '*', '?', '@', ' ']) && text.contains('.');
    let host = names::host(text).filter(|_| is_host);
    let host = host.map(|host| host.strip_prefix("www.").unwrap_or(&host).to_owned());
    host.ok_or_else(|| {
        EngineError::invalid(format!("`{text}` is not the name of a host, such as docs.example.org"))
    })
}
