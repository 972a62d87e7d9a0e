//! Running instances: two with different policies do not start together, and one that is not renewed is gone.

use std::time::Duration;

use midrail_store::{Instance, Store};

use crate::common::at;

const LIVE: Duration = Duration::from_secs(60);

fn instance(id: &str, revision: &str) -> Instance {
    let (id, revision) = (id.to_owned(), revision.to_owned());
    Instance { id, revision, address: "http://127.0.0.1:1".to_owned(), started: at(7) }
}

fn ids(store: &dyn Store, live_for: Duration) -> Vec<String> {
    store.live_instances(live_for).unwrap().into_iter().map(|instance| instance.id).collect()
}

pub(crate) fn instance_with_another_policy_does_not_join(store: &dyn Store) {
    assert_eq!(store.join(&instance("a", "r1"), LIVE, false).unwrap(), []);
    assert_eq!(store.join(&instance("b", "r1"), LIVE, false).unwrap(), []);
    let others = store.join(&instance("c", "r2"), LIVE, false).unwrap();
    assert_eq!(others, [instance("a", "r1"), instance("b", "r1")]);
    assert_eq!(ids(store, LIVE), ["a", "b"]);
    // A confirmed one joins, and so does the next one only if it is confirmed, too.
    assert_eq!(store.join(&instance("c", "r2"), LIVE, true).unwrap().len(), 2);
    assert_eq!(ids(store, LIVE), ["a", "b", "c"]);
    assert_eq!(store.join(&instance("d", "r2"), LIVE, false).unwrap().len(), 2);
    store.leave("a").unwrap();
    store.leave("b").unwrap();
    assert_eq!(store.join(&instance("d", "r2"), LIVE, false).unwrap(), []);
    assert_eq!(store.head().unwrap(), None, "instances are not in the audit log");
}

pub(crate) fn instance_that_is_not_renewed_is_gone(store: &dyn Store) {
    store.join(&instance("a", "r1"), LIVE, false).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(ids(store, Duration::from_millis(10)), [""; 0]);
    store.renew(&instance("a", "r3")).unwrap();
    assert_eq!(store.live_instances(LIVE).unwrap(), [instance("a", "r3")]);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(store.join(&instance("b", "r2"), Duration::from_millis(10), false).unwrap(), []);
    assert_eq!(ids(store, LIVE), ["b"]);
}

pub(crate) fn of_instances_that_start_together_one_policy_wins(store: &dyn Store) {
    let joined: Vec<&str> = std::thread::scope(|scope| {
        let names = ["r1", "r2", "r3", "r4"];
        let starts =
            names.map(|name| scope.spawn(move || (name, store.join(&instance(name, name), LIVE, false))));
        let ends = starts.map(|start| start.join().unwrap());
        ends.into_iter()
            .filter(|(_, others)| others.as_ref().unwrap().is_empty())
            .map(|(name, _)| name)
            .collect()
    });
    assert_eq!(joined.len(), 1, "{joined:?}");
    assert_eq!(ids(store, LIVE), joined);
}
