//! The most that paths carry, as the largest flow from their tops down to where they end: what is
//! side by side carries together what each carries, and what several ways pass, only once (Ford and
//! Fulkerson; the shortest way first, as Edmonds and Karp). What limits the flow is a smallest cut.

use super::{first_told, in_use, is_down, is_same};
use model::path::{Hop, HopKind};
use std::collections::{BTreeSet, VecDeque};

/// Of the hops that count, those that together limit these paths, each with what it carries: those
/// nearest to the tops if several sets would. `None` if one way past a hop that counts has no known
/// limit.
pub(super) fn narrowest<'h>(
    tops: &[&'h Hop],
    counts: impl Fn(&Hop) -> bool,
    carries: impl Fn(&Hop) -> Option<f64>,
) -> Option<Vec<(&'h Hop, f64)>> {
    let all = tops.iter().flat_map(|top| top.all());
    let told = all.filter(|hop| hop.kind != HopKind::Again).collect();
    let mut network = Network { told, ..Network::default() };
    tops.iter().for_each(|top| network.add(top, ABOVE, &counts, &carries));
    network.fill()?;
    Some(network.cut(&carries)).filter(|cut| !cut.is_empty())
}

/// Where all begins, and where it ends.
const ABOVE: usize = 0;
const END: usize = 1;

/// Hops with what each can still carry, and to which of them more can go. A hop has two points: one
/// where bytes come in, and the next one, where they go out.
#[derive(Default)]
struct Network<'h> {
    /// All hops that say what they are.
    told: Vec<&'h Hop>,
    /// Which of them were added, and below which point.
    added: BTreeSet<(*const Hop, usize)>,
    /// The hops, each once, however many ways pass it.
    hops: Vec<&'h Hop>,
    edges: Vec<Edge>,
}

struct Edge {
    from: usize,
    to: usize,
    left: f64,
    carried: f64,
}

/// A step of a way: an edge, and whether it is taken forth. Back, it takes back what it carries.
type Step = (usize, bool);

/// Where the bytes of a hop come in.
fn point_in(place: usize) -> usize {
    END + 1 + 2 * place
}

impl<'h> Network<'h> {
    /// Adds a hop, if it counts, and all below it, below the point `above`.
    fn add(
        &mut self,
        hop: &'h Hop,
        above: usize,
        counts: &impl Fn(&Hop) -> bool,
        carries: &impl Fn(&Hop) -> Option<f64>,
    ) {
        let Some(hop) = first_told(&self.told, hop) else {
            return self.connect(above, END, f64::INFINITY);
        };
        if is_down(hop) || !self.added.insert((hop, above)) {
            return;
        }
        let at = if counts(hop) { self.place(hop, above, carries(hop)) } else { above };
        in_use(hop).for_each(|below| self.add(below, at, counts, carries));
        if at != ABOVE && in_use(hop).next().is_none() {
            self.connect(at, END, f64::INFINITY);
        }
    }

    /// Adds a hop below the point `above`. Returns where its bytes go out.
    fn place(&mut self, hop: &'h Hop, above: usize, most: Option<f64>) -> usize {
        let known = self.hops.iter().position(|known| is_same(known, hop));
        let point = point_in(known.unwrap_or(self.hops.len()));
        self.connect(above, point, f64::INFINITY);
        if known.is_none() {
            self.hops.push(hop);
            self.connect(point, point + 1, most.unwrap_or(f64::INFINITY));
        }
        point + 1
    }

    fn connect(&mut self, from: usize, to: usize, left: f64) {
        if !self.edges.iter().any(|edge| (edge.from, edge.to) == (from, to)) {
            self.edges.push(Edge { from, to, left, carried: 0.0 });
        }
    }

    /// Lets as much flow as can; `None` if nothing limits it.
    fn fill(&mut self) -> Option<()> {
        while let Some(way) = self.way() {
            let room = way.iter().map(|step| self.room(*step)).fold(f64::INFINITY, f64::min);
            if room.is_infinite() {
                return None;
            }
            for (edge, is_forth) in way {
                let amount = if is_forth { room } else { -room };
                self.edges[edge].left -= amount;
                self.edges[edge].carried += amount;
            }
        }
        Some(())
    }

    /// How much more a step can take.
    fn room(&self, (edge, is_forth): Step) -> f64 {
        let edge = &self.edges[edge];
        if is_forth { edge.left } else { edge.carried }
    }

    /// The shortest way to the end on which more can go.
    fn way(&self) -> Option<Vec<Step>> {
        let came = self.reached();
        let mut way = Vec::new();
        let mut at = END;
        while at != ABOVE {
            let (edge, is_forth) = came[at]?;
            way.push((edge, is_forth));
            at = if is_forth { self.edges[edge].from } else { self.edges[edge].to };
        }
        Some(way)
    }

    /// Of each point, by which step more can come to it, if it can.
    fn reached(&self) -> Vec<Option<Step>> {
        let mut came = vec![None; point_in(self.hops.len())];
        let mut next = VecDeque::from([ABOVE]);
        while let Some(at) = next.pop_front() {
            for (index, edge) in self.edges.iter().enumerate() {
                let (point, step) = match (edge.from == at, edge.to == at) {
                    (true, _) => (edge.to, (index, true)),
                    (_, true) => (edge.from, (index, false)),
                    _ => continue,
                };
                if point != ABOVE && came[point].is_none() && self.room(step) > 0.0 {
                    came[point] = Some(step);
                    next.push_back(point);
                }
            }
        }
        came
    }

    /// The hops that are full, and to which more could come.
    fn cut(&self, carries: &impl Fn(&Hop) -> Option<f64>) -> Vec<(&'h Hop, f64)> {
        let came = self.reached();
        let is_full = |(place, _): &(usize, &&Hop)| {
            came[point_in(*place)].is_some() && came[point_in(*place) + 1].is_none()
        };
        let full = self.hops.iter().enumerate().filter(is_full);
        full.filter_map(|(_, hop)| Some((*hop, carries(hop)?))).collect()
    }
}
