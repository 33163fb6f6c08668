//! The most that a path carries, as the largest flow from the top down to where it ends: what is
//! side by side carries together what each carries, and what several ways pass, only once (Ford and
//! Fulkerson; the shortest way first, as Edmonds and Karp). What limits the flow is a smallest cut.

use super::{allowance, in_use};
use model::path::Hop;
use std::collections::VecDeque;

/// The hops that together limit a path, each with what it carries, those nearest to the top if
/// several sets would; `None` if one way has no known limit.
pub(super) fn narrowest(top: &Hop) -> Option<Vec<(&Hop, f64)>> {
    let mut network = Network::default();
    network.add(top, None);
    network.fill()?;
    Some(network.cut())
}

/// Hops with what each can still carry, and to which of them more can go.
#[derive(Default)]
struct Network<'h> {
    /// The hops, each once, however many ways pass it.
    hops: Vec<&'h Hop>,
    /// What can still go from one point to another. A hop has two points: where bytes come in, and
    /// where they go out.
    edges: Vec<Edge>,
}

struct Edge {
    from: Point,
    to: Point,
    left: f64,
    carried: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    In(usize),
    Out(usize),
    /// Below all.
    End,
}

impl<'h> Network<'h> {
    /// Adds a hop and all below it, below the point `above`.
    fn add(&mut self, hop: &'h Hop, above: Option<Point>) {
        let known = self.hops.iter().position(|known| super::is_same(known, hop));
        let place = known.unwrap_or(self.hops.len());
        if let Some(above) = above {
            self.connect(above, Point::In(place), f64::INFINITY);
        }
        if known.is_none() {
            self.hops.push(hop);
            let most = allowance::of(&hop.kind).unwrap_or(f64::INFINITY);
            self.connect(Point::In(place), Point::Out(place), most);
        }
        in_use(hop).for_each(|below| self.add(below, Some(Point::Out(place))));
        if in_use(hop).next().is_none() {
            self.connect(Point::Out(place), Point::End, f64::INFINITY);
        }
    }

    fn connect(&mut self, from: Point, to: Point, left: f64) {
        if !self.edges.iter().any(|edge| (edge.from, edge.to) == (from, to)) {
            self.edges.push(Edge { from, to, left, carried: 0.0 });
        }
    }

    /// Lets as much flow as can; `None` if nothing limits it.
    fn fill(&mut self) -> Option<()> {
        while let Some(way) = self.way() {
            let room = way.iter().map(|(edge, is_forth)| self.room(*edge, *is_forth));
            let room = room.fold(f64::INFINITY, f64::min);
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

    /// How much more can go along an edge or, by sending back what it carries, against it.
    fn room(&self, edge: usize, is_forth: bool) -> f64 {
        let edge = &self.edges[edge];
        if is_forth { edge.left } else { edge.carried }
    }

    /// The shortest way from the top to the end on which more can go.
    fn way(&self) -> Option<Vec<(usize, bool)>> {
        let reached = self.reached();
        let mut way = Vec::new();
        let mut at = Point::End;
        while at != Point::In(0) {
            let (_, came) = reached.iter().find(|(point, _)| *point == at)?;
            let (edge, is_forth) = (*came)?;
            way.push((edge, is_forth));
            at = if is_forth { self.edges[edge].from } else { self.edges[edge].to };
        }
        Some(way)
    }

    /// The points that more can reach, each with the edge by which it is reached.
    fn reached(&self) -> Vec<(Point, Option<(usize, bool)>)> {
        let mut reached = vec![(Point::In(0), None)];
        let mut next = VecDeque::from([Point::In(0)]);
        while let Some(at) = next.pop_front() {
            for (index, edge) in self.edges.iter().enumerate() {
                let to = match (edge.from == at, edge.to == at) {
                    (true, _) => Some((edge.to, true)),
                    (_, true) => Some((edge.from, false)),
                    _ => None,
                };
                let Some((point, is_forth)) = to else { continue };
                let is_new = reached.iter().all(|(known, _)| *known != point);
                if is_new && self.room(index, is_forth) > 0.0 {
                    reached.push((point, Some((index, is_forth))));
                    next.push_back(point);
                }
            }
        }
        reached
    }

    /// The hops that are full, and before which more could come.
    fn cut(&self) -> Vec<(&'h Hop, f64)> {
        let reached = self.reached();
        let is_reached = |point| reached.iter().any(|(known, _)| *known == point);
        let is_cut =
            |place: &usize| is_reached(Point::In(*place)) && !is_reached(Point::Out(*place));
        let cut = (0..self.hops.len()).filter(is_cut);
        cut.filter_map(|place| Some((self.hops[place], allowance::of(&self.hops[place].kind)?)))
            .collect()
    }
}
