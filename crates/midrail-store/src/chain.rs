//! How the records of the audit log are linked, in enough detail to verify an export with another program.
//!
//! Records are numbered `seq` = 1, 2, 3, … without gaps. Each has a body (the record as JSON, UTF-8, on one line)
//! and two hashes, written as 64 lowercase hexadecimal digits:
//!
//! ```text
//! prev(1) = 64 zeros
//! prev(n) = hash(n-1)
//! hash(n) = sha256("midrail-audit-v2\n" ‖ n ‖ "\n" ‖ prev(n) ‖ "\n" ‖ hex::encode(sha256(body(n))) ‖ "\n"
//!                  ‖ hex::encode(sha256(changes(n))) ‖ "\n")
//! ```
//!
//! `n` is decimal. Only the hashes of body and changes are part of the chain, so an export can contain the hash of a body
//! instead of the record, and the chain can still be verified.
//!
//! `changes(n)` is the JSON text of the digests of the state that the record changed: slices, approvals and approvers; it
//! is empty if there are none. It also has the digests of these slices before. So the chain shows whether the current state is
//! the one that its records led to, and whether each record was based on that of the records before it.
//! Records of older versions have no `changes`; their hashes begin with `midrail-audit-v1` and end after the body.
//!
//! Whenever `n` is a multiple of [`CHECKPOINT_EVERY`], and on demand, the head is signed: an ed25519 signature
//! (RFC 8032), as 128 lowercase hexadecimal digits, over
//!
//! ```text
//! "midrail-checkpoint-v1\n" ‖ n ‖ "\n" ‖ hash(n) ‖ "\n" ‖ time ‖ "\n" ‖ key ‖ "\n"
//! ```
//!
//! `time` is the RFC 3339 time of the checkpoint exactly as the checkpoint contains it, and `key` is the id of the
//! signing key: the first 16 digits of `hex::encode(sha256(public key))`.
//!
//! # Limits
//! A chain reveals changes; it cannot prevent them. An attacker who can write the store, its anchor and read its key can
//! rewrite the log. A [`TrustAnchor`](crate::TrustAnchor) that is kept elsewhere (the `seq` and hash of a head, the ids of
//! the keys) reveals that. In an export, records after the last checkpoint can be removed without a trace.

use midrail_core::hex;
use ring::digest;

/// A record whose `seq` is a multiple of this has a signed checkpoint.
pub const CHECKPOINT_EVERY: u64 = 64;

/// The `prev` of the first record.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The hash of a body.
pub fn body_hash(body: &str) -> String {
    sha256(body)
}

/// The SHA-256 of a text, in hexadecimal. Each decision hashes a few thousand bytes, and on processors without instructions
/// for it, `ring` does so in a quarter of the time that `sha2` takes.
pub(crate) fn sha256(text: &str) -> String {
    hex::encode(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

/// The start of a body that was erased. The hash of the body follows as a text.
pub(crate) const ERASED: &str = "{\"erased_body_sha256\":";

/// The hash of the original body, if a body was erased.
pub(crate) fn erased_body(body: &str) -> Option<&str> {
    let hash = body.strip_prefix(ERASED)?.strip_prefix('"')?.get(..64)?;
    unhex::<32>(hash).map(|_| hash)
}

/// The hash of a record. `changes_hash` is the hash of its changes; `None` for records of older versions.
pub fn link_hash(seq: u64, prev: &str, body_hash: &str, changes_hash: Option<&str>) -> String {
    let version = if changes_hash.is_some() { "midrail-audit-v2" } else { "midrail-audit-v1" };
    let seq = seq.to_string();
    let mut hash = digest::Context::new(&digest::SHA256);
    for line in [version, &seq, prev, body_hash].into_iter().chain(changes_hash) {
        hash.update(line.as_bytes());
        hash.update(b"\n");
    }
    hex::encode(hash.finish().as_ref())
}

/// Bytes from lowercase hexadecimal digits.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let bytes: [u8; N] = hex::decode(text)?.try_into().ok()?;
    (hex::encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_hash_is_the_documented_one() {
        // printf 'midrail-audit-v1\n1\n%064d\n%s\n' 0 "$(printf '{}' | sha256sum | cut -c1-64)" | sha256sum
        let expected = "08095745f71441e6f5ce5dfea7f27154e8d0cd8c49ee33e5d1155c67ea7e3f2d";
        assert_eq!(link_hash(1, GENESIS, &body_hash("{}"), None), expected);
        // printf 'midrail-audit-v2\n1\n%064d\n%s\n%s\n' 0 "$(printf '{}' | sha256sum | cut -c1-64)" \
        //   "$(printf '' | sha256sum | cut -c1-64)" | sha256sum
        let expected = "54bfbac64aa325b7809d78774f25eef19e1a2fdffc6b2c40c910c1591fd65a2f";
        assert_eq!(link_hash(1, GENESIS, &body_hash("{}"), Some(&body_hash(""))), expected);
    }

    #[test]
    fn hexadecimal_is_lowercase_and_of_exact_length() {
        assert_eq!(unhex::<2>("00ff"), Some([0, 255]));
        for wrong in ["00FF", "00f", "00ff0", "zz00", "+1+1", "é0"] {
            assert_eq!(unhex::<2>(wrong), None, "{wrong}");
        }
    }
}
