//! The sizes of a job's blocks: `bs`, `bsrange` and `bssplit`.

use super::asked::Asked;
use super::order::{Order, Sequence};
use model::block_sizes::BlockSizes;
use model::units;

/// The most sizes of a job: each is a case of its own.
const SIZES_MOST: usize = 16;

/// fio's size of a block without any of the options.
const USUAL: u64 = 4096;

/// The sizes of a job's blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Blocks {
    /// Each size, ascending.
    pub sizes: Vec<u64>,
    /// Several of them in one case, where that is what was asked for and a case can have it.
    pub mix: Option<BlockSizes>,
}

impl Blocks {
    fn of(mut sizes: Vec<u64>) -> Blocks {
        sizes.sort_unstable();
        sizes.dedup();
        Blocks { sizes, mix: None }
    }
}

/// The blocks in the directions of `order`. `None` if the job is refused for them.
pub(super) fn blocks(asked: &Asked, order: &Order) -> Option<Blocks> {
    let option = ["bssplit", "bsrange", "bs"].into_iter().find(|option| asked.has(option));
    let usual = Blocks::of(vec![USUAL]);
    let Some(option) = option else { return Some(usual) };
    let mut all: Vec<Blocks> = Vec::new();
    for direction in order.directions() {
        let Some(part) = asked.directed(option, direction) else {
            all.push(usual.clone());
            continue;
        };
        all.push(match option {
            "bssplit" => split(asked, part, order)?,
            "bsrange" => Blocks::of(range(asked, part)?),
            _ => Blocks::of(vec![asked.bytes("bs", part)?]),
        });
    }
    let blocks = all.pop()?;
    let sizes = &blocks.sizes;
    if let Some(other) = all.iter().find(|other| **other != blocks) {
        asked.refuse(
            option,
            format!(
                "reads of {} among writes of {}: operations of a case have one size",
                listed(&other.sizes),
                listed(sizes)
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
            match blocks.mix {
                Some(_) => {
                    "fio's figures are of all sizes together, and a change of one cannot be told \
                     from them: list sizes with --block to measure each by itself"
                }
                None => {
                    "fio's figures are of all sizes together, and a change of one cannot be told \
                     from them; ioassay measures each size as a case of its own, not their mix"
                }
            },
        );
    }
    Some(blocks)
}

fn listed(sizes: &[u64]) -> String {
    sizes.iter().map(|size| units::bytes(*size)).collect::<Vec<_>>().join(", ")
}

/// The sizes of `4k/60:64k/40` that some operations have. Those without a percentage divide what is
/// left of 100 evenly.
fn split(asked: &Asked, part: &str, order: &Order) -> Option<Blocks> {
    let mut entries = Vec::new();
    for entry in part.split(':') {
        let (size, share) = entry.split_once('/').unwrap_or((entry, ""));
        let size = asked.bytes("bssplit", size)?;
        if share.trim() != "0" {
            entries.push((size, share.trim().parse::<u8>().ok()));
        }
    }
    let given = entries.iter().filter_map(|(_, share)| *share).fold(0, u8::saturating_add);
    let open = entries.iter().filter(|(_, share)| share.is_none()).count() as u8;
    let rest = 100u8.saturating_sub(given).checked_div(open).unwrap_or(0);
    let parts = entries.iter().map(|(size, share)| (*size, share.unwrap_or(rest))).collect();
    let is_even = matches!(order.sequence, Sequence::Sequential | Sequence::Random);
    let mix = BlockSizes::of(parts).ok().filter(|_| is_even);
    Some(Blocks { mix, ..Blocks::of(entries.into_iter().map(|(size, _)| size).collect()) })
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
