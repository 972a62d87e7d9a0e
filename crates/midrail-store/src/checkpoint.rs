//! Signed checkpoints of the audit log, and the public keys that they are checked with.

use ed25519_dalek::{Signature, VerifyingKey};
use midrail_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::chain::unhex;

/// A signature over the log as it was when it ended with this record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The record.
    pub seq: u64,
    /// The record's hash.
    pub hash: String,
    /// When it was signed, as it stands in the signed message.
    pub time: String,
    /// The name of the key.
    pub key: String,
    /// The signature, in hexadecimal.
    pub signature: String,
}

impl Checkpoint {
    /// What is signed.
    pub(crate) fn message(&self) -> String {
        let Checkpoint { seq, hash, time, key, .. } = self;
        format!("midrail-checkpoint-v1\n{seq}\n{hash}\n{time}\n{key}\n")
    }

    /// Whether one of the keys has signed this. Otherwise why not.
    pub fn check(&self, keys: &[PublicKey]) -> Result<(), &'static str> {
        let key = keys.iter().find(|key| key.id == self.key).ok_or("its key is not known")?;
        let public = key.verifying().ok_or("its key is no key, or has another name")?;
        let signature = unhex(&self.signature).ok_or("its signature is no signature")?;
        public
            .verify_strict(self.message().as_bytes(), &Signature::from_bytes(&signature))
            .map_err(|_| "its signature does not fit")
    }
}

/// A key that checkpoints are checked with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublicKey {
    /// Its name: the first 16 digits of the SHA-256 of its bytes.
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
