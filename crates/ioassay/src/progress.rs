//! What a run shows while it runs: one line on a terminal, nothing in a pipe.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::units;
use std::time::{Duration, Instant};

/// The line.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
}

impl Progress {
    /// A line on stderr; nothing is shown if that is not a terminal.
    pub fn new() -> Progress {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{wide_bar} {msg}")
            .expect("the template is one that the library knows");
        Progress { bar: bar.with_style(style), began: Instant::now() }
    }

    /// Nothing is ever shown.
    pub fn hidden() -> Progress {
        Progress { bar: ProgressBar::hidden(), began: Instant::now() }
    }

    /// A peer is being built: `done` of `all` are there.
    pub fn building(&self, done: usize, all: usize, peer: &str) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(format!("building the peer {peer}"));
    }

    /// A test file is being written.
    pub fn writing(&self, done: u64, size: u64) {
        self.bar.set_length(size);
        self.bar.set_position(done);
        let (done, size) = (units::bytes_rounded(done), units::bytes_rounded(size));
        self.bar.set_message(format!("writing the test file: {done} of {size}"));
    }

    /// The rounds begin; what was spent until now does not tell how long they take.
    pub fn rounds_begin(&mut self, trials: u64) {
        self.bar.set_length(trials);
        self.bar.set_position(0);
        self.began = Instant::now();
    }

    /// A trial begins: `done` of the `planned` ones are over.
    pub fn trial(&self, done: u64, planned: u64, round: u32, case: &str) {
        self.bar.set_length(planned);
        self.bar.set_position(done);
        let left = match done {
            0 => String::new(),
            _ => {
                let each = self.began.elapsed().as_secs_f64() / done as f64;
                let left = Duration::from_secs((each * planned.saturating_sub(done) as f64) as u64);
                format!("about {} left, ", units::time(left))
            }
        };
        self.bar.set_message(format!("{left}round {}: {case}", round + 1));
    }

    /// The line is gone.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}
