//! E-mail addresses of people, without remotes, package versions, user names in URLs and examples.

mod parts;
mod spelled;

use memchr::memchr_iter;
use midrail_core::Hit;

use crate::bytes::{byte, byte_before};
use crate::outline::{Block, behind};
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

    /// Adds the address at a place of [`may_be_spelled`]. Places come in order.
    #[inline(always)]
    pub(super) fn add_spelled(&mut self, text: &[u8], place: usize) {
        if let Some(sign) = spelled::word_before(text, place) {
            add(&mut self.spelled, spelled::address(text, sign, place + 1, true));
        }
        if let Some(end) = spelled::escape(text, place) {
            add(&mut self.spelled, spelled::address(text, place, end, false));
        }
    }

    /// Returns all addresses.
    pub(super) fn all(mut self) -> Vec<Hit> {
        self.plain.append(&mut self.spelled);
        self.plain
    }
}

/// Where the sign of an address may be in another spelling: escapes, and places behind words of two letters.
pub(super) fn may_be_spelled(before: &Block, here: &Block) -> u64 {
    let is_behind_word = behind::<1>(before.letters, here.letters)
        & behind::<2>(before.letters, here.letters)
        & !behind::<3>(before.parts(), here.parts())
        & !here.parts();
    here.signs | is_behind_word
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
