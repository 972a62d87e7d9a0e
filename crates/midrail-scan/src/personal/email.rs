//! E-mail addresses of people, without remotes, package versions, user names in URLs and examples.

mod parts;
mod spelled;

use memchr::memchr_iter;
use midrail_core::Hit;

use crate::bytes::{byte, byte_before};
use parts::{domain_end, hit_for, is_local};

/// The e-mail addresses found so far.
#[derive(Debug, Default)]
pub(super) struct Emails {
    /// With an `@`, in order.
    plain: Vec<Hit>,
    /// With another spelling of it, in order.
    spelled: Vec<Hit>,
}

impl Emails {
    /// Adds the addresses with an `@`.
    pub(super) fn scan(&mut self, text: &[u8]) {
        for at in memchr_iter(b'@', text) {
            add(&mut self.plain, address(text, at));
        }
    }

    /// Whether the sign of an address may begin with two bytes, in another spelling.
    #[inline(always)]
    pub(super) fn may_be_spelled(first: u8, second: u8) -> bool {
        spelled::may_begin(first, second)
    }

    /// Adds the address whose sign may begin at a place, in another spelling. Places come in order.
    pub(super) fn add_spelled(&mut self, text: &[u8], place: usize) {
        if let Some((end, is_word)) = spelled::sign(text, place) {
            add(&mut self.spelled, spelled::address(text, place, end, is_word));
        }
    }

    /// Returns all addresses.
    pub(super) fn all(mut self) -> Vec<Hit> {
        self.plain.append(&mut self.spelled);
        self.plain
    }
}

/// Adds a hit that begins behind the last one.
fn add(hits: &mut Vec<Hit>, hit: Option<Hit>) {
    hits.extend(hit.filter(|hit| hits.last().is_none_or(|last| last.end <= hit.start)));
}

fn address(text: &[u8], at: usize) -> Option<Hit> {
    let next = byte(text, at + 1);
    if !is_local(byte_before(text, at)) || !next.is_ascii_alphanumeric() {
        return None;
    }
    let end = domain_end(text, at + 1)?;
    let domain = std::str::from_utf8(text.get(at + 1..end)?).ok()?.to_ascii_lowercase();
    hit_for(text, at, end, &domain)
}
