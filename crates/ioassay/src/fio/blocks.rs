//! The sizes of a job's blocks: `bs`, `bsrange` and `bssplit`.

use super::asked::{Asked, Direction};
use model::units;

/// The most sizes of a job: each is a case of its own.
const SIZES_MOST: usize = 16;

/// fio's size of a block without any of the options.
const USUAL: u64 = 4096;

/// The sizes of the blocks in `directions`, ascending. `None` if the job is refused for them.
pub(super) fn sizes(asked: &Asked, directions: &[Direction]) -> Option<Vec<u64>> {
    let option = ["bssplit", "bsrange", "bs"].into_iter().find(|option| asked.has(option));
    let Some(option) = option else { return Some(vec![USUAL]) };
    let mut all: Vec<Vec<u64>> = Vec::new();
    for direction in directions {
        let Some(part) = asked.directed(option, *direction) else {
            all.push(vec![USUAL]);
            continue;
        };
        let mut sizes = match option {
            "bssplit" => split(asked, part)?,
            "bsrange" => range(asked, part)?,
            _ => vec![asked.bytes("bs", part)?],
        };
        sizes.sort_unstable();
        sizes.dedup();
        all.push(sizes);
    }
    let sizes = all.pop()?;
    if let Some(other) = all.iter().find(|other| **other != sizes) {
        asked.refuse(
            option,
            format!(
                "reads of {} among writes of {}: operations of a case have one size",
                listed(other),
                listed(&sizes)
            ),
        );
        return None;
    }
    if sizes.contains(&0) || sizes.len() > SIZES_MOST {
        asked
            .refuse(option, format!("a job has 1 to {SIZES_MOST} sizes of blocks, none of them 0"));
        return None;
    }
    if sizes.len() > 1 {
        asked.fooled(
            option,
            "fio's figures are of all sizes together, and a change of one cannot be told from \
             them; ioassay measures each size as a case of its own, not their mix",
        );
    }
    Some(sizes)
}

fn listed(sizes: &[u64]) -> String {
    sizes.iter().map(|size| units::bytes(*size)).collect::<Vec<_>>().join(", ")
}

/// The sizes of `4k/60:64k/40` that some operations have.
fn split(asked: &Asked, part: &str) -> Option<Vec<u64>> {
    let mut sizes = Vec::new();
    for entry in part.split(':') {
        let (size, share) = entry.split_once('/').unwrap_or((entry, ""));
        let size = asked.bytes("bssplit", size)?;
        if share.trim() != "0" {
            sizes.push(size);
        }
    }
    Some(sizes)
}

/// Both ends of `4k-64k`, and the powers of two between them.
fn range(asked: &Asked, part: &str) -> Option<Vec<u64>> {
    let Some((least, most)) = part.split_once('-') else {
        asked.refuse("bsrange", "it is not a range, such as 4k-64k");
        return None;
    };
    let (least, most) = (asked.bytes("bsrange", least)?, asked.bytes("bsrange", most)?);
    if least > most || least == 0 {
        asked.refuse("bsrange", "it ends before it begins");
        return None;
    }
    let powers = (0..u64::BITS).map(|power| 1u64 << power);
    let between = powers.filter(|power| (least + 1..most).contains(power));
    Some([least, most].into_iter().chain(between).collect())
}
