//! Waiting for the answers of many agents at once.

use super::remote::{PATIENCE, Remote};
use super::watch::Watch;
use crate::deadline::Deadline;
use anyhow::Result;
use model::agent::{Answer, Order};
use std::time::{Duration, Instant};

/// Interval between checks for signals and for silence.
const STEP: Duration = Duration::from_millis(50);

/// After all agents were looked at, nobody is for this many times as long: ten thousand would keep
/// a processor busy.
const LOOK_PAUSE: u32 = 9;

/// What the others are told of a lost agent, if anything, and the time for it.
type Release<'a, K> = dyn Fn(K, &anyhow::Error) -> Option<(Order, Duration)> + 'a;

/// How answers are waited for.
pub struct Waiting<'a, K> {
    /// How long one may take.
    pub patience: Duration,
    /// If an agent is lost, the order that the others get.
    pub release: &'a Release<'a, K>,
    /// Told again and again for how long others are waited for, and how many have answered.
    pub late: &'a dyn Fn(Duration, usize, &mut dyn Iterator<Item = K>),
}

impl<'a, K: 'a> Waiting<'a, K> {
    /// For so long, and nobody is told.
    pub fn quietly(patience: Duration) -> Waiting<'a, K> {
        Waiting { patience, release: &|_, _| None, late: &|_, _, _| () }
    }
}

/// Gives each agent the order of its place among them, and waits for their answers, which take no
/// time of their own.
pub fn ask_all<K: Copy>(
    agents: Vec<(K, &mut Remote)>,
    order: impl Fn(usize) -> Order,
) -> Vec<(K, Result<Answer>)> {
    let (mut waiting, mut heard) = (Vec::new(), Vec::new());
    for (place, (key, agent)) in agents.into_iter().enumerate() {
        match agent.tell(&order(place)) {
            Ok(()) => waiting.push((key, agent)),
            Err(error) => heard.push((key, Err(error))),
        }
    }
    hear_all(waiting, heard, &Waiting::quietly(PATIENCE))
}

/// The next answer of each agent, if it arrives in time. They are waited for together, so
/// that one which is silent delays no other. If one is lost, or was among those `heard` already,
/// the others are released.
///
/// # Errors
/// For each, as for [`Remote::hear`].
pub fn hear_all<K: Copy>(
    waiting: Vec<(K, &mut Remote)>,
    heard: Vec<(K, Result<Answer>)>,
    how: &Waiting<K>,
) -> Vec<(K, Result<Answer>)> {
    let mut listening = Listening::new(waiting, heard, how.patience);
    let since = Instant::now();
    // Silence, the end of a process and its stderr are seen only by looking.
    let (mut pause, mut asked) = (Deadline::after(Duration::ZERO), Vec::new());
    while listening.left > 0 {
        listening.release(how.release);
        let began = Instant::now();
        let looks = pause.is_over() || listening.is_stopped();
        if looks {
            asked = (0..listening.waiting.len()).collect();
        }
        asked.drain(..).for_each(|index| listening.ask(index));
        if looks {
            pause = Deadline::after(STEP.max(began.elapsed().saturating_mul(LOOK_PAUSE)));
            let mut silent = listening.waiting.iter().flatten().map(|(key, _)| *key);
            (how.late)(since.elapsed(), listening.heard.len(), &mut silent);
        }
        if listening.left > 0 {
            asked = listening.wait();
        }
    }
    listening.heard
}

/// Agents whose answers are waited for.
struct Listening<'a, K> {
    /// `None` once it has answered.
    waiting: Vec<Option<(K, &'a mut Remote)>>,
    /// How many have not.
    left: usize,
    heard: Vec<(K, Result<Answer>)>,
    /// How many of those heard were looked at for a loss.
    seen: usize,
    is_released: bool,
    patience: Duration,
    deadline: Deadline,
    /// Names those that say something. Without it, all are looked at from time to time.
    watch: Option<Watch>,
}

impl<'a, K: Copy> Listening<'a, K> {
    fn new(
        mut waiting: Vec<(K, &'a mut Remote)>,
        heard: Vec<(K, Result<Answer>)>,
        patience: Duration,
    ) -> Listening<'a, K> {
        for (_, agent) in &mut waiting {
            agent.is_listened_to();
        }
        let watch = watch_of(&waiting);
        Listening {
            left: waiting.len(),
            waiting: waiting.into_iter().map(Some).collect(),
            heard,
            seen: 0,
            is_released: false,
            patience,
            deadline: Deadline::after(patience),
            watch,
        }
    }

    /// If an agent was lost meanwhile, gives the others the order of `release`, once.
    fn release(&mut self, release: &Release<K>) {
        let news = std::mem::replace(&mut self.seen, self.heard.len());
        let lost = |(key, answer): &(K, Result<Answer>)| {
            answer.as_ref().err().and_then(|error| release(*key, error))
        };
        let order = self.heard[news..].iter().find_map(lost).filter(|_| !self.is_released);
        let Some((order, patience)) = order else { return };
        self.is_released = true;
        self.patience = self.patience.min(patience);
        self.deadline = Deadline::after(self.patience);
        for (_, agent) in self.waiting.iter_mut().flatten() {
            if let Err(error) = agent.tell(&order) {
                // That it is lost, too, is found out when it is listened to.
                log::debug!("an order was not told: {error:#}");
            }
        }
    }

    /// Whether the run was stopped. All agents know.
    fn is_stopped(&self) -> bool {
        let agent = self.waiting.iter().flatten().next();
        agent.is_some_and(|(_, agent)| agent.check_stop().is_err())
    }

    /// Takes the answer of an agent, if it is there.
    fn ask(&mut self, index: usize) {
        let Some((key, agent)) = &mut self.waiting[index] else { return };
        if let Some(answer) = agent.poll_answer(self.patience, self.deadline).transpose() {
            self.heard.push((*key, answer));
            if let Some(watch) = &self.watch {
                watch.forget(agent.output());
            }
            self.waiting[index] = None;
            self.left -= 1;
        }
    }

    /// Waits until agents say something, for a moment. Returns which did.
    fn wait(&mut self) -> Vec<usize> {
        let step = self.deadline.left().min(STEP);
        match &mut self.watch {
            Some(watch) => watch.wait(step),
            None => {
                std::thread::sleep(step);
                Vec::new()
            }
        }
    }
}

/// Watches what the agents say. Without it, they are looked at from time to time.
fn watch_of<K>(agents: &[(K, &mut Remote)]) -> Option<Watch> {
    let watch = Watch::new().ok()?;
    let mut numbered = agents.iter().enumerate();
    numbered.try_for_each(|(number, (_, agent))| watch.add(number, agent.output())).ok()?;
    Some(watch)
}
