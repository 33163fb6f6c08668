//! The loops over memory that a run found to be the fastest.

use crate::words::count;
use model::shape::{Calibrated, LoopShape};

/// Of more shapes, only the number is shown.
const SHAPES_TOLD: usize = 3;

/// The shapes of loops that were found to be the fastest: `memory: avx2, 8 ways, 3 streams, no
/// prefetch`, or how many loops have which.
pub(crate) fn loops(calibrated: &[Calibrated]) -> Option<String> {
    let mut shapes: Vec<(LoopShape, usize)> = Vec::new();
    for Calibrated { chosen, .. } in calibrated {
        match shapes.iter_mut().find(|(shape, _)| shape == chosen) {
            Some((_, loops)) => *loops += 1,
            None => shapes.push((*chosen, 1)),
        }
    }
    if let [(shape, _)] = &shapes[..] {
        return Some(format!("memory: {}", shape.words()));
    }
    shapes.sort_by_key(|(_, loops)| std::cmp::Reverse(*loops));
    let said = |(shape, loops): &(LoopShape, usize)| {
        format!("{} for {}", shape.words(), count(*loops, "loop"))
    };
    let mut told: Vec<String> = shapes.iter().take(SHAPES_TOLD).map(said).collect();
    let more = shapes.len().saturating_sub(SHAPES_TOLD);
    told.extend((more > 0).then(|| format!("{more} more for others")));
    (!told.is_empty()).then(|| format!("memory: {}", told.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Kernel, Pages};
    use model::shape::Walk;

    #[test]
    fn the_fastest_loops_are_told_by_their_shapes() {
        let check = |shapes: &[&str]| {
            let calibrated = |text: &&str| {
                let walk = Walk {
                    kernel: Kernel::Read,
                    pages: Pages::Huge,
                    threads: 1,
                    working_set: 1 << 27,
                };
                let chosen = text.parse().expect(text);
                Calibrated { walk, chosen, candidates: Vec::new() }
            };
            loops(&shapes.iter().map(calibrated).collect::<Vec<_>>())
        };
        assert_eq!(check(&[]), None);
        let one = "memory: avx2, 8 ways, 3 streams, no prefetch";
        assert_eq!(check(&["avx2-8x3", "avx2-8x3"]).as_deref(), Some(one));
        let two = "memory: sse2, 8 ways, 1 stream, prefetch 2KiB ahead for 2 loops; avx2, 8 ways, \
                   3 streams, no prefetch for 1 loop";
        let shapes = ["avx2-8x3", "sse2-8x1+2048", "sse2-8x1+2048"];
        assert_eq!(check(&shapes).as_deref(), Some(two));
        let many = check(&["avx2-8x3", "avx2-8x1", "avx2-16x1", "sse2-8x1"]).expect("it has loops");
        assert!(many.ends_with("for 1 loop; 1 more for others"), "{many}");
    }
}
