//! The secret of a store, and the keys that are derived from it: one signs checkpoints, one creates fingerprints, one
//! hashes the keys of approvers, one seals the anchor.

use std::sync::OnceLock;

use ed25519_dalek::{Signer, SigningKey};
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use midrail_core::hex;
use sha2::Sha256;
use zeroize::Zeroizing;

#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::chain::unhex;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::checkpoint::{ArchiveSeal, Erasure, KeyChange};
use crate::checkpoint::{Checkpoint, PublicKey};
use crate::error::{Result, StoreError};

#[cfg(any(feature = "sqlite", feature = "postgres"))]
const HEADER: &str = "midrail-key-v1";
#[cfg(any(feature = "sqlite", feature = "postgres"))]
const SIGNING: &str = "signing ";
#[cfg(any(feature = "sqlite", feature = "postgres"))]
const NEXT: &str = "next ";

type Seed = Zeroizing<[u8; 32]>;

/// A 32-byte seed. It is the ed25519 secret key until that is replaced; the other keys are `HMAC-SHA256(seed, label)`,
/// with `midrail-fingerprint-v1`, `midrail-approver-v1` and `midrail-anchor-v1`.
///
/// Most processes need fingerprints but no signatures, so the public key is computed on first use.
#[derive(Clone)]
pub(crate) struct StoreKey {
    seed: Seed,
    /// The ed25519 secret key, if it was replaced.
    signing_seed: Option<Seed>,
    /// The ed25519 secret key from the moment when its public key is in the log. It is stored before, so that a process
    /// that ends in between leaves no log that has no key.
    next_seed: Option<Seed>,
    signing: OnceLock<(SigningKey, PublicKey)>,
    /// The seed as a key, from which the others are derived.
    seed_mac: OnceLock<Hmac<Sha256>>,
    fingerprint_key: OnceLock<[u8; 32]>,
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    anchor_mac: OnceLock<Hmac<Sha256>>,
}

impl StoreKey {
    pub(crate) fn random() -> Result<Self> {
        Ok(StoreKey::from_seed(&*random_seed()?))
    }

    pub(crate) fn from_seed(seed: &[u8; 32]) -> Self {
        StoreKey {
            seed: Zeroizing::new(*seed),
            signing_seed: None,
            next_seed: None,
            signing: OnceLock::new(),
            seed_mac: OnceLock::new(),
            fingerprint_key: OnceLock::new(),
            #[cfg(any(feature = "sqlite", feature = "postgres"))]
            anchor_mac: OnceLock::new(),
        }
    }

    /// The key of one project, if one secret is used for all projects of a database. Its seed is
    /// `HMAC-SHA256(seed, "midrail-project-v1\n" ‖ name)`.
    #[cfg(feature = "postgres")]
    pub(crate) fn for_project(&self, name: &str) -> Self {
        StoreKey::from_seed(&self.derived(format!("midrail-project-v1\n{name}").as_bytes()))
    }

    /// The same key with a random successor of what signs.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn with_next(&self) -> Result<Self> {
        Ok(StoreKey { next_seed: Some(random_seed()?), ..self.clone() })
    }

    /// The key after its successor signs, if it has one.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn next(&self) -> Option<Self> {
        let signing_seed = Some(self.next_seed.clone()?);
        Some(StoreKey { signing_seed, ..StoreKey::from_seed(&self.seed) })
    }

    /// The text of the key file: a header line, the seed in hexadecimal, and a line for each other seed.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{HEADER}\n{}\n", hex::encode(&*self.seed));
        for (name, seed) in [(SIGNING, &self.signing_seed), (NEXT, &self.next_seed)] {
            if let Some(seed) = seed {
                text.push_str(&format!("{name}{}\n", hex::encode(&**seed)));
            }
        }
        text
    }

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.strip_prefix(HEADER)?.strip_prefix('\n')?.trim_end().lines();
        let mut key = StoreKey::from_seed(&unhex(lines.next()?)?);
        for line in lines {
            let seed = |digits| Some(Some(Zeroizing::new(unhex(digits)?)));
            if let Some(digits) = line.strip_prefix(SIGNING) {
                key.signing_seed = seed(digits)?;
            } else {
                key.next_seed = seed(line.strip_prefix(NEXT)?)?;
            }
        }
        Some(key)
    }

    pub(crate) fn public(&self) -> &PublicKey {
        &self.keys().1
    }

    fn keys(&self) -> &(SigningKey, PublicKey) {
        self.signing.get_or_init(|| {
            let signing = SigningKey::from_bytes(self.signing_seed.as_ref().unwrap_or(&self.seed));
            let public = PublicKey::new(&signing.verifying_key());
            (signing, public)
        })
    }

    pub(crate) fn fingerprint_key(&self) -> [u8; 32] {
        *self.fingerprint_key.get_or_init(|| self.derived(b"midrail-fingerprint-v1"))
    }

    /// A keyed hash of a text. Compare it with [`Mac::verify_slice`], which takes constant time.
    pub(crate) fn approver_mac(&self, text: &str) -> Hmac<Sha256> {
        mac(&self.derived(b"midrail-approver-v1")).chain_update(text.as_bytes())
    }

    /// A keyed hash of a head, for the anchor of the store.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn anchor_mac(&self, text: &str) -> Hmac<Sha256> {
        let keyed = self.anchor_mac.get_or_init(|| mac(&self.derived(b"midrail-anchor-v1")));
        keyed.clone().chain_update(text.as_bytes())
    }

    fn derived(&self, label: &[u8]) -> [u8; 32] {
        let keyed = self.seed_mac.get_or_init(|| mac(&self.seed));
        keyed.clone().chain_update(label).finalize().into_bytes().into()
    }

    /// States that the signatures of one key up to a record, and of another one after it, belong to the same log.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn sign_change(&self, seq: u64, old: &str, new: &str) -> KeyChange {
        let (old, new) = (old.to_owned(), new.to_owned());
        let signer = self.public().id.clone();
        let mut change = KeyChange { seq, old, new, signer, signature: String::new() };
        change.signature = self.signature(&change.message());
        change
    }

    /// A signature over a message, in hexadecimal.
    fn signature(&self, message: &str) -> String {
        hex::encode(&self.keys().0.sign(message.as_bytes()).to_bytes())
    }

    /// States that records were moved to a file.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn seal_archive(&self, through: u64, sha256: String, state: String) -> ArchiveSeal {
        let key = self.public().id.clone();
        let mut seal = ArchiveSeal { through, sha256, state, key, signature: String::new() };
        seal.signature = self.signature(&seal.message());
        seal
    }

    /// States that the body of a record was erased.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn sign_erasure(&self, seq: u64, hash: &str) -> Erasure {
        let mut erasure = Erasure { seq, key: self.public().id.clone(), signature: String::new() };
        erasure.signature = self.signature(&erasure.message(hash));
        erasure
    }

    pub(crate) fn sign(&self, seq: u64, hash: &str, time: Timestamp) -> Checkpoint {
        let mut checkpoint = Checkpoint {
            seq,
            hash: hash.to_owned(),
            time: time.to_string(),
            key: self.public().id.clone(),
            signature: String::new(),
        };
        checkpoint.signature = self.signature(&checkpoint.message());
        checkpoint
    }
}

/// HMAC-SHA256 with a key, which is padded with zeros to the length of a block.
fn mac(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = Zeroizing::new([0; 64]);
    block.iter_mut().zip(key).for_each(|(byte, key)| *byte = *key);
    Hmac::new((&*block).into())
}

fn random_seed() -> Result<Seed> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed).map_err(|error| StoreError::Random(error.to_string()))?;
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_file_round_trips_and_damaged_file_is_rejected() {
        let key = StoreKey::from_seed(&[7; 32]);
        let again = StoreKey::from_text(&key.to_text()).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(again.fingerprint_key(), key.fingerprint_key());
        assert_ne!(again.fingerprint_key(), StoreKey::from_seed(&[8; 32]).fingerprint_key());
        let both = key.with_next().unwrap();
        let next = StoreKey::from_text(&both.to_text()).unwrap().next().unwrap();
        assert_eq!((both.public(), next.fingerprint_key()), (key.public(), key.fingerprint_key()));
        assert_ne!(next.public(), key.public());
        let again = StoreKey::from_text(&next.to_text()).unwrap();
        assert_eq!(again.public(), next.public());
        assert!(again.next().is_none());
        let wrong_line = format!("{}other 00\n", key.to_text());
        assert!(StoreKey::from_text(&wrong_line).is_none());
        for wrong in ["", "midrail-key-v1", "midrail-key-v1\n00\n", "midrail-key-v2\n"] {
            assert!(StoreKey::from_text(wrong).is_none());
        }
    }
}
