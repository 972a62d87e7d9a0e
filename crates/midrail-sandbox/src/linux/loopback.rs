//! The loopback interface of a network namespace.

use std::fs;
use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// Brings the loopback interface up, the only one in a new network namespace.
pub(super) fn bring_up() -> io::Result<()> {
    // The first protocol of netlink is that of interfaces and routes.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    // A header (`nlmsghdr`): length, RTM_NEWLINK, NLM_F_REQUEST with NLM_F_ACK, number, sender.
    let mut request = Vec::with_capacity(32);
    request.extend(32u32.to_ne_bytes());
    request.extend(16u16.to_ne_bytes());
    request.extend(5u16.to_ne_bytes());
    request.extend(1u32.to_ne_bytes());
    request.extend(0u32.to_ne_bytes());
    // An interface (`ifinfomsg`): family and type, index 1, the flag IFF_UP, and that it changes.
    request.extend([0; 4]);
    request.extend(1i32.to_ne_bytes());
    request.extend(1u32.to_ne_bytes());
    request.extend(1u32.to_ne_bytes());
    send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0u8; 1024];
    recv(&socket, &mut answer[..], RecvFlags::empty())?;
    // The answer is a header and an error number, 0 for success.
    let number = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map_or(-1, i32::from_ne_bytes);
    if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-number)) }
}

/// Whether a process of this network namespace tried to send to where no route leads.
pub(super) fn has_refused() -> bool {
    let refused = |file: &str, find: &dyn Fn(&str) -> Option<u64>| {
        fs::read_to_string(file).ok().and_then(|text| find(&text)).is_some_and(|count| count > 0)
    };
    refused("/proc/self/net/snmp", &|text| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip:"));
        let place = lines.next()?.split_whitespace().position(|name| name == "OutNoRoutes")?;
        lines.next()?.split_whitespace().nth(place)?.parse().ok()
    }) || refused("/proc/self/net/snmp6", &|text| {
        text.lines().find_map(|line| line.strip_prefix("Ip6OutNoRoutes"))?.trim().parse().ok()
    })
}
