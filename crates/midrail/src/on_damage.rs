//! The reaction to a store that was damaged or replaced.

/// What happens when a store has lost acknowledged records, or is another one than the one that was last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDamage {
    /// Every event is blocked until a person acknowledges the damage.
    #[default]
    Block,
    /// The damage is recorded, logged and sent as a notice, and decisions continue.
    Report,
}
