//! Signed checkpoints of the audit log, and the public keys that verify them.

use ed25519_dalek::{Signature, VerifyingKey};
use midrail_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::chain::unhex;

/// A signature over the log up to one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The record.
    pub seq: u64,
    /// The record's hash.
    pub hash: String,
    /// When it was signed, exactly as in the signed message.
    pub time: String,
    /// The id of the key.
    pub key: String,
    /// The signature, in hexadecimal.
    pub signature: String,
}

impl Checkpoint {
    /// The signed message.
    pub(crate) fn message(&self) -> String {
        let Checkpoint { seq, hash, time, key, .. } = self;
        format!("midrail-checkpoint-v1\n{seq}\n{hash}\n{time}\n{key}\n")
    }

    /// Checks that one of the keys has signed this.
    pub fn check(&self, keys: &[PublicKey]) -> Result<(), &'static str> {
        check_signature(&self.message(), &self.key, &self.signature, keys)
    }
}

/// The statement of a key that the log was signed with one key up to a record, and with another one after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyChange {
    /// The last record under the old key.
    pub seq: u64,
    /// The id of the old key.
    pub old: String,
    /// The id of the new key.
    pub new: String,
    /// The id of the key that states this: the old one, if it was known, or else the new one.
    pub signer: String,
    /// The signature, in hexadecimal.
    pub signature: String,
}

impl KeyChange {
    /// The signed message.
    pub(crate) fn message(&self) -> String {
        let KeyChange { seq, old, new, signer, .. } = self;
        format!("midrail-key-change-v1\n{seq}\n{old}\n{new}\n{signer}\n")
    }

    /// Checks that one of the keys has signed this.
    pub fn check(&self, keys: &[PublicKey]) -> Result<(), &'static str> {
        check_signature(&self.message(), &self.signer, &self.signature, keys)
    }
}

/// The statement of a key that the records up to one were moved to a file, and which state they led to.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveSeal {
    /// The last archived record.
    pub(crate) through: u64,
    /// The SHA-256 of the file.
    pub(crate) sha256: String,
    /// The digests of the state, as JSON.
    pub(crate) state: String,
    /// The id of the key, and the signature in hexadecimal.
    pub(crate) key: String,
    pub(crate) signature: String,
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
impl ArchiveSeal {
    /// The signed message.
    pub(crate) fn message(&self) -> String {
        let ArchiveSeal { through, sha256, state, key, .. } = self;
        let state = hex::encode(&Sha256::digest(state.as_bytes()));
        format!("midrail-archive-v1\n{through}\n{sha256}\n{state}\n{key}\n")
    }

    pub(crate) fn check(&self, keys: &[PublicKey]) -> Result<(), &'static str> {
        check_signature(&self.message(), &self.key, &self.signature, keys)
    }
}

/// The statement of a key that the body of a record was erased on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erasure {
    /// The record.
    pub seq: u64,
    /// The id of the key.
    pub key: String,
    /// The signature, in hexadecimal.
    pub signature: String,
}

impl Erasure {
    /// The signed message.
    pub(crate) fn message(&self, hash: &str) -> String {
        format!("midrail-erasure-v1\n{}\n{hash}\n{}\n", self.seq, self.key)
    }

    /// Checks that one of the keys has signed this for a record with a hash.
    pub(crate) fn check(&self, hash: &str, keys: &[PublicKey]) -> Result<(), &'static str> {
        check_signature(&self.message(hash), &self.key, &self.signature, keys)
    }
}

fn check_signature(message: &str, id: &str, signature: &str, keys: &[PublicKey]) -> Result<(), &'static str> {
    let key = keys.iter().find(|key| key.id == id).ok_or("its key is unknown")?;
    let public = key.verifying().ok_or("its key is invalid, or has another id")?;
    let signature = unhex(signature).ok_or("its signature is malformed")?;
    public
        .verify_strict(message.as_bytes(), &Signature::from_bytes(&signature))
        .map_err(|_| "its signature does not match")
}

/// A key that verifies checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublicKey {
    /// Its id: the first 16 digits of the SHA-256 of its bytes.
    pub id: String,
    /// Its 32 bytes, in hexadecimal.
    pub public: String,
}

impl PublicKey {
    pub(crate) fn new(key: &VerifyingKey) -> Self {
        PublicKey { id: key_id(key.as_bytes()), public: hex::encode(key.as_bytes()) }
    }

    fn verifying(&self) -> Option<VerifyingKey> {
        let bytes = unhex(&self.public)?;
        (key_id(&bytes) == self.id).then(|| VerifyingKey::from_bytes(&bytes).ok())?
    }
}

fn key_id(bytes: &[u8; 32]) -> String {
    let mut whole = hex::encode(&Sha256::digest(bytes));
    whole.truncate(16);
    whole
}
