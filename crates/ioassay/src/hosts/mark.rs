//! Whether hosts share a directory: what one creates there, the others look for.

use super::listening::ask_all;
use super::remote::Remote;
use crate::clock;
use anyhow::{Result, bail};
use model::agent::{Answer, Order, shown};
use model::random::mix;
use std::collections::BTreeMap;
use std::path::Path;

/// Lets `owner` mark the directory, and asks each of the others whether it sees the mark.
///
/// # Errors
/// If the directory cannot be marked; for each of the others, if it does not answer.
pub fn who_sees<K: Copy>(
    directory: &Path,
    owner: &mut Remote,
    others: Vec<(K, &mut Remote)>,
) -> Result<Vec<(K, Result<bool>)>> {
    let (directory, name) = (directory.to_path_buf(), salt());
    owner.ask(&Order::Mark { directory: directory.clone(), name: name.clone() })?;
    let find = Order::Find { directory, name };
    let sees = |answer| match answer {
        Answer::Found(sees) => Ok(sees),
        other => bail!("it sent '{}' instead of whether it sees a mark", shown(&other)),
    };
    let heard = ask_all(others, |_| find.clone());
    Ok(heard.into_iter().map(|(key, answer)| (key, answer.and_then(sees))).collect())
}

/// Lets each host mark the directory, and asks it for the first mark that it sees there. Hosts that
/// see the same one share the directory. That takes two orders for each host; to ask each about all
/// others would take as many as the square of their number.
///
/// # Errors
/// For each host, if it does not answer.
pub fn first_seen<K: Copy>(
    directory: &Path,
    mut hosts: Vec<(K, &mut Remote)>,
) -> Vec<(K, Result<String>)> {
    let (directory, prefix) = (directory.to_path_buf(), salt());
    let mark = |place| {
        let name = format!("{prefix}{place:08x}");
        Order::Mark { directory: directory.clone(), name }
    };
    let places = hosts.iter_mut().enumerate().map(|(place, (_, agent))| (place, &mut **agent));
    let marked = ask_all(places.collect(), mark);
    let failed = marked.into_iter().filter_map(|(place, answer)| Some((place, answer.err()?)));
    let mut failed: BTreeMap<usize, anyhow::Error> = failed.collect();
    let (mut seen, mut able) = (Vec::new(), Vec::new());
    for (place, (key, agent)) in hosts.into_iter().enumerate() {
        match failed.remove(&place) {
            Some(error) => seen.push((key, Err(error))),
            None => able.push((key, agent)),
        }
    }
    let first = Order::First { directory, prefix };
    let heard = ask_all(able, |_| first.clone()).into_iter().map(|(key, answer)| {
        let first = answer.and_then(|answer| match answer {
            Answer::First(Some(name)) => Ok(name),
            Answer::First(None) => bail!("it does not see its own file in the directory"),
            other => bail!("it sent '{}' instead of a mark", shown(&other)),
        });
        (key, first)
    });
    seen.extend(heard);
    seen
}

/// A name that no other run has.
fn salt() -> String {
    format!("{:016x}", mix(clock::now().utc_ns ^ u64::from(std::process::id()) << 32))
}
