//! What a job does to its blocks, and in which order: `rw`, `rwmixread`, `random_distribution`.

use super::asked::{Asked, Direction};
use model::mix;

/// The order of the blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sequence {
    /// From the first to the last.
    Sequential,
    /// The first, and then each that begins so many bytes after the end of the one before.
    Skipping(u64),
    /// Each once, in a random order.
    Random,
    /// Drawn by Zipf's law with this exponent.
    Zipf(String),
}

/// The operations of a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    /// How many of a hundred operations read.
    pub read_share: u8,
    /// The order of the blocks.
    pub sequence: Sequence,
}

impl Order {
    /// Whether any operation writes.
    pub(super) fn writes(&self) -> bool {
        self.read_share < 100
    }

    /// Whether some operations read and others write.
    pub(super) fn is_mixed(&self) -> bool {
        self.read_share > 0 && self.writes()
    }

    /// Whether blocks come in no order.
    pub(super) fn is_random(&self) -> bool {
        matches!(self.sequence, Sequence::Random | Sequence::Zipf(_))
    }

    /// The directions of the operations.
    pub(super) fn directions(&self) -> Vec<Direction> {
        let reads = (self.read_share > 0).then_some(Direction::Read);
        reads.into_iter().chain(self.writes().then_some(Direction::Write)).collect()
    }
}

/// fio's exponent for a Zipf distribution without one.
const THETA: &str = "1.1";

/// The operations of a job; `None` if it is refused for them.
pub(super) fn order(asked: &Asked) -> Option<Order> {
    let text = asked.text("rw").unwrap_or("read");
    let (name, skip) = match text.split_once(':') {
        Some((name, skip)) => (name, Some(skip)),
        None => (text, None),
    };
    let mixed = || share(asked);
    let (read_share, is_random) = match name {
        "read" => (100, false),
        "write" => (0, false),
        "randread" => (100, true),
        "randwrite" => (0, true),
        "rw" | "readwrite" => (mixed()?, false),
        "randrw" => (mixed()?, true),
        _ if name.contains("trim") => {
            asked.refuse("rw", "ioassay discards no blocks");
            return None;
        }
        _ => {
            asked.refuse("rw", "fio has no such kind of operations");
            return None;
        }
    };
    let sequence = match (is_random, skip) {
        (true, None) => distribution(asked, read_share)?,
        (true, Some(_)) => {
            asked.refuse("rw", "ioassay draws a new place for each block");
            return None;
        }
        (false, None) => Sequence::Sequential,
        (false, Some(skip)) if skip.starts_with('-') => {
            asked.refuse("rw", "ioassay goes through no file backwards");
            return None;
        }
        (false, Some(skip)) => match asked.bytes("rw", skip)? {
            0 => Sequence::Sequential,
            skip => Sequence::Skipping(skip),
        },
    };
    Some(Order { read_share, sequence })
}

/// How many of a hundred operations read.
fn share(asked: &Asked) -> Option<u8> {
    let of_writes = || asked.whole("rwmixwrite").map(|writes| 100 - writes.min(100));
    let share = asked.whole("rwmixread").or_else(of_writes).unwrap_or(50);
    let share = u8::try_from(share).ok().filter(|share| *share <= 100);
    if share.is_none() {
        asked.refuse("rwmixread", format!("it is a percentage from 0 to {}", mix::MOST));
    }
    share
}

/// The order of random blocks.
fn distribution(asked: &Asked, read_share: u8) -> Option<Sequence> {
    let text = asked.text("random_distribution").unwrap_or("random");
    let (name, rest) = text.split_once(':').unwrap_or((text, THETA));
    match name {
        "random" => Some(Sequence::Random),
        "zipf" if read_share < 100 => {
            asked.refuse(
                "random_distribution",
                "only reads of ioassay follow Zipf's law: it must know what each block holds",
            );
            None
        }
        "zipf" => {
            let theta = rest.split(['/', ':', ',']).next().unwrap_or_default().trim();
            if theta != rest {
                asked.instead("random_distribution", "ioassay chooses which blocks come often");
            }
            if theta.parse::<model::zipf::Theta>().is_err() {
                asked.refuse("random_distribution", "the exponent is a number from 0.001 to 10");
                return None;
            }
            Some(Sequence::Zipf(theta.to_string()))
        }
        _ => {
            asked.refuse(
                "random_distribution",
                "ioassay draws blocks evenly (random) or by Zipf's law (zipf), and by no other",
            );
            None
        }
    }
}
