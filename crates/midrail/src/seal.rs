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
    ChaCha20Poly1305::new_from_slice(&derive_key(key, LABEL)?).ok()
}

/// A key for one purpose, derived from the key of a store.
fn derive_key(key: &[u8], label: &[u8]) -> Option<[u8; 32]> {
    Some(digest(key, label)?.finalize().into_bytes().into())
}

fn digest(key: &[u8], bytes: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(bytes);
    Some(mac)
}

/// Signs texts with a key that is derived for one purpose.
pub(crate) struct Signer(Option<[u8; 32]>);

impl Signer {
    pub(crate) fn new(store_key: &[u8], label: &[u8]) -> Self {
        Signer(derive_key(store_key, label))
    }

    /// The signature of a text, in hexadecimal.
    pub(crate) fn sign(&self, text: &str) -> String {
        self.digest(text).map(|mac| hex::encode(&mac.finalize().into_bytes())).unwrap_or_default()
    }

    /// Whether this is the signature of a text, in constant time.
    pub(crate) fn verify(&self, text: &str, signature: &str) -> bool {
        let signature = hex::decode(signature).unwrap_or_default();
        self.digest(text).is_some_and(|mac| mac.verify_slice(&signature).is_ok())
    }

    fn digest(&self, text: &str) -> Option<Hmac<Sha256>> {
        digest(self.0.as_ref()?, text.as_bytes())
    }
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
