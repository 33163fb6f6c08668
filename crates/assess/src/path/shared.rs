//! What several paths have in common: what one of them gets there, the others lack.

use super::{Allowance, allowance, is_same, narrowest};
use model::list::listed;
use model::path::{Hop, HopKind};

/// Hops that the same paths have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedHops {
    /// The paths, by their place.
    pub paths: Vec<usize>,
    /// The names of the disks among them.
    pub disks: Vec<String>,
    /// Other functions of the cards that the links among them lead to.
    pub functions: Vec<String>,
    /// What all of these paths together get of them at most; `None` if no hop tells it.
    pub allows: Option<Allowance>,
}

impl SharedHops {
    /// What they share, in words: `the disk sda (at most 600 MB/s: SATA 6 Gb/s of ata1)`.
    pub fn words(&self) -> String {
        let most = self.allows.as_ref().map(Allowance::words);
        match (&self.disks[..], most) {
            ([], most) => {
                let are_several = self.allows.as_ref().is_some_and(|it| it.hops.len() > 1);
                let noun = if are_several { "links" } else { "a link" };
                let others = match &self.functions[..] {
                    [] => String::new(),
                    others => format!(", which is that of {}, too", listed(others)),
                };
                most.map_or_else(String::new, |most| format!("{noun}: {most}{others}"))
            }
            (disks, most) => {
                let noun = if disks.len() == 1 { "disk" } else { "disks" };
                let most = most.map_or_else(String::new, |most| format!(" ({most})"));
                format!("the {noun} {}{most}", listed(disks))
            }
        }
    }
}

/// The disks and the links with a known limit that at least two of the paths have in common, those
/// of the same paths together. In a virtual machine, links say nothing.
pub fn shared_hops(tops: &[&Hop], is_guest: bool) -> Vec<SharedHops> {
    let mut found: Vec<(Vec<usize>, Vec<&Hop>)> = Vec::new();
    for hop in tops.iter().flat_map(|top| top.all()) {
        let has = |place: &usize| tops[*place].all().iter().any(|other| is_same(hop, other));
        let paths: Vec<usize> = (0..tops.len()).filter(has).collect();
        if !tells(hop, is_guest) || paths.len() < 2 {
            continue;
        }
        match found.iter_mut().find(|(known, _)| *known == paths) {
            Some((_, hops)) if hops.iter().any(|known| is_same(known, hop)) => {}
            Some((_, hops)) => hops.push(hop),
            None => found.push((paths, vec![hop])),
        }
    }
    found.into_iter().map(|(paths, hops)| of_paths(paths, &hops, tops, is_guest)).collect()
}

fn tells(hop: &Hop, is_guest: bool) -> bool {
    matches!(hop.kind, HopKind::Disk(_)) || (!is_guest && allowance::of(&hop.kind).is_some())
}

fn of_paths(paths: Vec<usize>, hops: &[&Hop], tops: &[&Hop], is_guest: bool) -> SharedHops {
    let is_disk = |hop: &&&Hop| matches!(hop.kind, HopKind::Disk(_));
    let disks: Vec<String> = hops.iter().filter(is_disk).map(|hop| hop.name.clone()).collect();
    let tops: Vec<&Hop> = paths.iter().map(|path| tops[*path]).collect();
    let is_shared = |hop: &Hop| hops.iter().any(|shared| is_same(shared, hop));
    let mut functions: Vec<String> = Vec::new();
    for hop in tops.iter().flat_map(|top| top.all()).filter(|hop| is_shared(hop)) {
        if !functions.contains(&hop.name) && hops.iter().all(|shared| shared.name != hop.name) {
            functions.push(hop.name.clone());
        }
    }
    let allows = narrowest(&tops, is_shared, |hop| allowance::of(&hop.kind).filter(|_| !is_guest));
    SharedHops { paths, disks, functions, allows }
}
