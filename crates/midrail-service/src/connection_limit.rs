//! Limits the connections per address, or behind a proxy the requests, so that one machine cannot use up all of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// Connections by address.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimiter {
    most: usize,
    open: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// The slot of one connection or request. It is freed when this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot(Option<(ConnectionLimiter, IpAddr)>);

impl ConnectionLimiter {
    /// A limit per address.
    pub(crate) fn new(most: usize) -> Self {
        ConnectionLimiter { most, open: Arc::default() }
    }

    /// A slot for a connection or a request. `None`: the address has reached its limit. Loopback addresses are not limited.
    pub(crate) fn enter(&self, from: IpAddr) -> Option<ConnectionSlot> {
        let from = from.to_canonical();
        if from.is_loopback() {
            return Some(ConnectionSlot(None));
        }
        let from = network(from);
        let mut open = self.open.lock();
        let count = open.entry(from).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(ConnectionSlot(Some((self.clone(), from))))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let Some((connection_limit, from)) = self.0.take() else { return };
        let mut open = connection_limit.open.lock();
        if let Some(count) = open.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                open.remove(&from);
            }
        }
    }
}

/// The network of an address: for IPv6 its first half, because a machine can use all addresses of its network.
fn network(from: IpAddr) -> IpAddr {
    match from {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_per_address() {
        let connection_limit = ConnectionLimiter::new(2);
        let enter = |from: &str| connection_limit.enter(from.parse().unwrap());
        let first = enter("10.0.0.1");
        let _second = enter("10.0.0.1");
        assert!(first.is_some() && enter("10.0.0.1").is_none() && enter("::ffff:10.0.0.1").is_none());
        let _other = enter("10.0.0.2").unwrap();
        drop(first);
        assert!(enter("10.0.0.1").is_some());
        let _halves = [enter("2001:db8::1").unwrap(), enter("2001:db8::2:3").unwrap()];
        assert!(enter("2001:db8::ffff").is_none() && enter("2001:db8:0:1::1").is_some());
    }

    #[test]
    fn loopback_is_not_counted_and_slots_are_freed() {
        let connection_limit = ConnectionLimiter::new(1);
        let own: Vec<_> = (0..10).map(|_| connection_limit.enter("127.0.0.1".parse().unwrap())).collect();
        assert!(own.iter().all(Option::is_some) && connection_limit.enter("::1".parse().unwrap()).is_some());
        drop(connection_limit.enter("10.0.0.1".parse().unwrap()));
        assert!(connection_limit.open.lock().is_empty());
    }
}
