//! Groups things.

use std::collections::HashMap;
use std::hash::Hash;

/// Things with the same key together, in the order in which keys first appear.
pub(crate) fn grouped<T, K: Eq + Hash>(
    things: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<Vec<T>> = Vec::new();
    for thing in things {
        let place = *places.entry(key(&thing)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(thing);
    }
    let mut keys: Vec<(K, usize)> = places.into_iter().collect();
    keys.sort_by_key(|(_, place)| *place);
    keys.into_iter().map(|(key, _)| key).zip(groups).collect()
}

/// Each thing once, in the order in which they first appear.
pub(crate) fn distinct<T: Eq + Hash + Clone>(things: impl IntoIterator<Item = T>) -> Vec<T> {
    grouped(things, T::clone).into_iter().map(|(thing, _)| thing).collect()
}
