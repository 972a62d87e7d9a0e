//! Values that are kept in a store and that only its key can read: what is held back of a stream may be half a secret,
//! which no detector knows for one yet.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

use midrail_core::hex;

/// A key of its own, so that nothing that is sealed has to do with fingerprints.
const LABEL: &[u8] = b"midrail-stream-v1";

/// Seals bytes for a place, under the key of a store: a random number of use and what ChaCha20-Poly1305 makes of the
/// bytes, in hexadecimal. Somewhere else they cannot be read.
pub(crate) fn seal(key: &[u8], place: &str, bytes: &[u8]) -> Option<String> {
    let mut nonce = [0_u8; NONCE_LEN];
    getrandom::fill(&mut nonce).ok()?;
    let mut sealed = bytes.to_vec();
    cipher(key)?
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(place.as_bytes()),
            &mut sealed,
        )
        .ok()?;
    Some(format!("{}{}", hex(&nonce), hex(&sealed)))
}

/// What was sealed for a place, if it was sealed so.
pub(crate) fn open(key: &[u8], place: &str, sealed: &str) -> Option<Vec<u8>> {
    let bytes = unhex(sealed)?;
    let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut sealed = sealed.to_vec();
    let opened = cipher(key)?.open_in_place(nonce, Aad::from(place.as_bytes()), &mut sealed).ok()?;
    Some(opened.to_vec())
}

fn cipher(key: &[u8]) -> Option<LessSafeKey> {
    let own = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), LABEL);
    Some(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, own.as_ref()).ok()?))
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_under_its_key_and_place_alone() {
        let sealed = seal(b"k", "s/one", "AKIA, half of it".as_bytes()).unwrap();
        assert!(!sealed.contains(&hex(b"AKIA")));
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
