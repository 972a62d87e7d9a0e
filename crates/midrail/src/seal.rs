//! Encrypts values in the store, such as the held back part of a stream, which may be half a secret.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce};
use hmac::{Hmac, Mac};
use midrail_core::hex;
use sha2::Sha256;

/// The length of a nonce, in bytes.
const NONCE_LEN: usize = 12;

/// The purpose of the derived key.
const LABEL: &[u8] = b"midrail-stream-v1";

/// Seals bytes for a place with the key of a store: a random nonce and the output of ChaCha20-Poly1305, in hexadecimal.
/// They can be opened only for the same place.
pub(crate) fn seal(key: &[u8], place: &str, bytes: &[u8]) -> Option<String> {
    let mut nonce = [0_u8; NONCE_LEN];
    getrandom::fill(&mut nonce).ok()?;
    let payload = Payload { msg: bytes, aad: place.as_bytes() };
    let sealed = cipher(key)?.encrypt(&Nonce::from(nonce), payload).ok()?;
    Some(format!("{}{}", hex::encode(&nonce), hex::encode(&sealed)))
}

/// The bytes that were sealed for a place. `None`: they were not sealed with this key and for this place.
pub(crate) fn open(key: &[u8], place: &str, sealed: &str) -> Option<Vec<u8>> {
    let bytes = hex::decode(sealed)?;
    let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
    let payload = Payload { msg: sealed, aad: place.as_bytes() };
    cipher(key)?.decrypt(&Nonce::from(*nonce), payload).ok()
}

/// The cipher, with a key that is derived for this purpose alone.
fn cipher(key: &[u8]) -> Option<ChaCha20Poly1305> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(LABEL);
    ChaCha20Poly1305::new_from_slice(&mac.finalize().into_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_bytes_open_only_with_their_key_and_place() {
        let sealed = seal(b"k", "s/one", "AKIA, half of it".as_bytes()).unwrap();
        assert!(!sealed.contains(&hex::encode(b"AKIA")));
        assert_ne!(seal(b"k", "s/one", b"AKIA, half of it").unwrap(), sealed);
        assert_eq!(open(b"k", "s/one", &sealed).unwrap(), b"AKIA, half of it");
        assert_eq!(open(b"k", "s/two", &sealed), None);
        assert_eq!(open(b"l", "s/one", &sealed), None);
        let mut changed = sealed.clone();
        changed.pop();
        for wrong in ["", "zz", &changed, &format!("{}0", &sealed[..sealed.len() - 1])] {
            let opened = open(b"k", "s/one", wrong);
            assert!(opened.is_none() || *wrong == *sealed, "{wrong}");
        }
    }
}
