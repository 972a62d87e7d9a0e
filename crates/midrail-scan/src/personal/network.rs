//! IPv4, IPv6 and MAC addresses that may lead to a person: public ones.

use std::net::{Ipv4Addr, Ipv6Addr};

use midrail_core::{Confidence, Hit, Severity};

use super::context::{BEFORE, Context};
use super::data::{
    IDENTIFIER_WORDS, IP_WORDS, SAMPLE_MAC_STARTS, SURE_VERSION_WORDS, VERSION_WORDS, WELL_KNOWN_IPS,
};
use super::token::Token;
use crate::bytes::{byte, byte_before, follows_word, is_word, run_end, run_start, window};

/// The longest group of an IPv6 address, with a colon.
const LONGEST_GROUP: usize = 5;

/// The longest IPv6 address in text.
const LONGEST: usize = 45;

/// The result of a rule: `None` if the text is no address, or else a hit if the address may lead to a person.
type AddressResult = Option<Option<Hit>>;

/// How many words away these may be.
const NEAR: usize = 3;

/// How many bytes of the number next to an address are read.
const LONGEST_NEIGHBOUR: usize = 24;

/// Whether a candidate is a dotted IPv4 address.
pub(super) fn quad(token: &Token<'_>) -> AddressResult {
    if !(4..=12).contains(&token.bare().len()) || !token.has_separators() || token.separator() != Some(b'.') {
        return None;
    }
    let text = std::str::from_utf8(token.text()).ok()?;
    let address: Ipv4Addr = text.parse().ok()?;
    Some(is_personal_quad(token, address).then(|| ip(token.start, token.end)))
}

fn is_personal_quad(token: &Token<'_>, address: Ipv4Addr) -> bool {
    let bytes = token.bytes;
    let octets = address.octets();
    let (before, after) = (byte_before(bytes, token.start), byte(bytes, token.end));
    let continues = matches!(after, b'-' | b'.' | b'+') && is_word(byte(bytes, token.end + 1));
    if !is_public(octets) || WELL_KNOWN_IPS.contains(token.text()) || continues {
        return false;
    }
    // `pkg-1.2.3.4`, `==1.2.3.4`, `~1.2.3.4`, `^1.2.3.4`, `x.1.2.3.4`.
    if matches!(before, b'-' | b'~' | b'^' | b'.' | b'+') {
        return false;
    }
    if before == b'=' && matches!(byte_before(bytes, token.start - 1), b'=' | b'>' | b'<' | b'~') {
        return false;
    }
    let context = Context::new(bytes, token.start, token.end);
    let has_ip_word = context.has(&IP_WORDS);
    if context.has_within(&VERSION_WORDS, 1) && !context.has_within(&IP_WORDS, 1) {
        return false;
    }
    if matches!(octets, [1..=2, ..]) && context.has_within(&IDENTIFIER_WORDS, NEAR) {
        return false;
    }
    if !has_ip_word && (is_version(token) || is_in_path(token)) {
        return false;
    }
    // Versions and object identifiers consist of small numbers; addresses hardly ever do.
    let is_large =
        octets.iter().any(|octet| *octet >= 64) || octets.iter().filter(|octet| **octet >= 32).count() > 1;
    is_large || has_ip_word
}

/// Whether a word before it on its line marks a version.
fn is_version(token: &Token<'_>) -> bool {
    let line = run_start(token.bytes, token.start, BEFORE, |byte| !matches!(byte, b'\n' | b'\r'));
    let text = token.bytes.get(line..token.end).unwrap_or_default();
    Context::within(text, token.start - line, text.len(), NEAR).has_within(&SURE_VERSION_WORDS, NEAR)
}

/// Whether it is in a run of numbers, as in the path of a drawing: `2.83-2.12 3.51.98.32 2.03`.
fn is_in_path(token: &Token<'_>) -> bool {
    let bytes = token.bytes;
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+');
    let is_gap = |byte: u8| matches!(byte, b' ' | b',');
    let gap = run_start(bytes, token.start, 2, is_gap);
    let before = bytes.get(run_start(bytes, gap, LONGEST_NEIGHBOUR, is_part)..gap).unwrap_or_default();
    let after = window(bytes, token.end, LONGEST_NEIGHBOUR);
    let from = after.iter().take(2).take_while(|byte| is_gap(**byte)).count();
    let after = after.get(from..run_end(after, from, is_part)).unwrap_or_default();
    let dots = |text: &[u8]| text.iter().filter(|byte| **byte == b'.').count();
    let has_digit = |text: &[u8]| text.iter().any(u8::is_ascii_digit);
    // Another address next to it makes a list.
    if dots(before) == 3 || dots(after) == 3 {
        return false;
    }
    let is_tied =
        |text: &[u8]| dots(text) > 0 && text.windows(2).any(|pair| matches!(pair, [b'0'..=b'9', b'-']));
    is_tied(before)
        || is_tied(after)
        || has_digit(before) && has_digit(after) && dots(before) + dots(after) > 0
}

fn is_public(octets: [u8; 4]) -> bool {
    let address = Ipv4Addr::from(octets);
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || matches!(octets, [0 | 224.., ..] | [100, 64..=127, ..] | [198, 18..=19, ..] | [192, 0, 0, _]);
    // The last number of a network is zero.
    !is_special && octets.last() != Some(&0)
}

/// Whether the text around a digit is an IPv6 or MAC address with colons, and where it ends.
pub(super) fn colons(bytes: &[u8], at: usize) -> Option<(Option<Hit>, usize)> {
    if !window(bytes, at.saturating_sub(LONGEST_GROUP), 2 * LONGEST_GROUP + 1).contains(&b':') {
        return None;
    }
    let group_start = run_start(bytes, at, 4, |byte| byte.is_ascii_hexdigit());
    let group_end = at + run_end(window(bytes, at, 5), 0, |byte| byte.is_ascii_hexdigit());
    if byte_before(bytes, group_start) != b':' && byte(bytes, group_end) != b':' {
        return None;
    }
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
    let mut start = run_start(bytes, at, LONGEST, is_part);
    let mut end = at + run_end(window(bytes, at, LONGEST), 0, is_part);
    if byte(bytes, start) == b':' && byte(bytes, start + 1) != b':' {
        start += 1;
    } else if follows_word(bytes, start) {
        return None;
    }
    if byte_before(bytes, end) == b':' && byte(bytes, end - 2) != b':' {
        end -= 1;
    }
    let text = bytes.get(start..end).and_then(|text| std::str::from_utf8(text).ok())?;
    if is_word(byte(bytes, end)) || !(3..=39).contains(&text.len()) {
        return None;
    }
    if let Some(is_personal) = mac(text.as_bytes(), b':') {
        return Some((is_personal.then(|| mac_hit(start, end)), end));
    }
    let colons = text.bytes().filter(|byte| *byte == b':').count();
    if colons != 7 && !text.contains("::") {
        return None;
    }
    let address: Ipv6Addr = text.parse().ok()?;
    let segments = address.segments();
    let is_compressed = text.contains("::");
    let has_long_group = text.split(':').any(|group| group.len() > 2);
    let [first, second, ..] = segments;
    let is_documentation = first == 0x2001 && second == 0x0db8 || first == 0x3fff;
    let is_local = matches!(first, 0 | 0x0064 | 0xfc00..=0xfdff | 0xfe80..=0xffff);
    let is_global = (0x2000..=0x3fff).contains(&first);
    let is_resolver = text.starts_with("2001:4860:4860:") || text.starts_with("2606:4700:4700:");
    let is_network = text.ends_with("::");
    let is_address = if is_compressed { is_global } else { has_long_group };
    let is_personal = is_address && !is_documentation && !is_local && !is_resolver && !is_network;
    Some((is_personal.then(|| ip(start, end)), end))
}

/// Whether a candidate is a MAC address with dashes.
pub(super) fn dashed_mac(token: &Token<'_>) -> Option<Hit> {
    mac(token.text(), b'-').filter(|is_personal| *is_personal).map(|_| mac_hit(token.start, token.end))
}

/// Whether a text is a MAC address, and that of a real machine.
fn mac(text: &[u8], separator: u8) -> Option<bool> {
    let is_mac = text.len() == 17
        && text.iter().enumerate().all(|(place, byte)| match place % 3 {
            2 => *byte == separator,
            _ => byte.is_ascii_hexdigit(),
        });
    if !is_mac {
        return None;
    }
    let lower: Vec<u8> = text.iter().filter(|byte| **byte != separator).map(u8::to_ascii_lowercase).collect();
    let has_letter = lower.iter().any(u8::is_ascii_alphabetic);
    // Six pairs of digits may be a date and a time.
    let is_date = !has_letter && separator == b'-';
    let is_made_up = SAMPLE_MAC_STARTS.iter().any(|start| lower.starts_with(start.as_bytes()));
    // In a group address, the lowest bit of the first byte is set.
    let is_group = b"13579bdf".contains(&byte(&lower, 1));
    Some(!is_date && !is_made_up && !is_group)
}

fn ip(start: usize, end: usize) -> Hit {
    Hit { severity: Severity::Low, ..Hit::new("ip-address", start, end, "a public IP address") }
}

fn mac_hit(start: usize, end: usize) -> Hit {
    let hit = Hit::new("mac-address", start, end, "a hardware address of a machine");
    Hit { severity: Severity::Low, confidence: Confidence::High, ..hit }
}
