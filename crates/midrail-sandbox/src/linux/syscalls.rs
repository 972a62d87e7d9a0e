//! System calls that a command in a sandbox cannot make.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use crate::sandbox::Network;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that would lead out of the sandbox, reach other processes or the machine, or that no command of an agent needs.
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    // Its requests are not seen by this filter.
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_migrate_pages,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

/// Requests that type into a terminal: `TIOCSTI` and `TIOCLINUX`.
const TERMINAL_REQUESTS: [u64; 2] = [0x5412, 0x541c];

/// Flags of `clone` for namespaces: mounts, cgroups, UTS, IPC, users, processes, network.
const NAMESPACE_FLAGS: [u64; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/// The bit that marks calls of the x32 interface.
const X32: i64 = 0x4000_0000;

/// Families of sockets: Unix, IPv4, IPv6, netlink.
const UNIX: u64 = 1;
const INET: u64 = 2;
const INET6: u64 = 10;
const NETLINK: u64 = 16;

/// The families of sockets that a command may open.
fn families(network: Network, has_mounts: bool) -> &'static [u64] {
    match (network, has_mounts) {
        // Sockets of other programs are out of sight, and the network is a namespace of its own.
        (_, true) => &[UNIX, INET, INET6, NETLINK],
        // Without mounts, Unix sockets lead to agents for keys, containers and the desktop.
        (Network::All, false) => &[INET, INET6],
        (Network::None, false) => &[],
    }
}

/// Refuses the calls for this process and all that it starts.
pub(super) fn refuse(network: Network, has_mounts: bool) -> seccompiler::Result<()> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let mut requests = Vec::new();
    for request in TERMINAL_REQUESTS {
        requests.push(rule(vec![condition(1, SeccompCmpOp::Eq, request)?])?);
    }
    rules.insert(libc::SYS_ioctl, requests);
    let mut flags = Vec::new();
    for flag in NAMESPACE_FLAGS {
        flags.push(rule(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])?);
    }
    rules.insert(libc::SYS_clone, flags);
    let mut others = Vec::new();
    for family in families(network, has_mounts) {
        others.push(condition(0, SeccompCmpOp::Ne, *family)?);
    }
    rules.insert(libc::SYS_socket, if others.is_empty() { Vec::new() } else { vec![rule(others)?] });
    apply(rules, libc::EPERM)?;
    // The flags of this call are in memory, where a filter does not see them. Programs then use `clone`.
    apply(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

fn condition(place: u8, operator: SeccompCmpOp, value: u64) -> seccompiler::Result<SeccompCondition> {
    Ok(SeccompCondition::new(place, SeccompCmpArgLen::Dword, operator, value)?)
}

fn rule(conditions: Vec<SeccompCondition>) -> seccompiler::Result<SeccompRule> {
    Ok(SeccompRule::new(conditions)?)
}

fn apply(mut rules: Rules, error: i32) -> seccompiler::Result<()> {
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    if architecture == TargetArch::x86_64 {
        // The x32 interface has the same calls under other numbers, and some under numbers of its own.
        let twins: Rules = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(twins);
        rules.extend((512..=547).map(|call| (call | X32, Vec::new())));
    }
    let error = u32::try_from(error).unwrap_or(1);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error), architecture)?;
    apply_filter(&BpfProgram::try_from(filter)?)
}
