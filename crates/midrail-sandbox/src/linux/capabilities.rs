//! The capabilities of the parts of a sandbox and of the command.

use rustix::io;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

/// What the first process in a user namespace needs.
const NEEDED: [CapabilitySet; 3] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN, CapabilitySet::SETPCAP];

/// What a command of root keeps: what ordinary work with files and processes needs.
const ORDINARY: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Lets the next part keep the capabilities of a new user namespace, which `exec` takes from users other than root.
pub(super) fn pass_on() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    for capability in NEEDED {
        sets.inheritable |= capability;
    }
    set_capabilities(None, sets)?;
    for capability in NEEDED {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Drops all capabilities that an ordinary command does not need, for good.
pub(super) fn drop_all() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let now = capabilities(None)?;
    let kept = if rustix::process::geteuid().is_root() { ORDINARY } else { CapabilitySet::empty() };
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for bit in 0..64 {
            let capability = CapabilitySet::from_bits_retain(1 << bit);
            if kept.contains(capability) {
                continue;
            }
            match remove_capability_from_bounding_set(capability) {
                // The kernel knows no more capabilities.
                Err(io::Errno::INVAL) => break,
                other => other?,
            }
        }
    }
    let kept = now.permitted & kept;
    set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )
}
