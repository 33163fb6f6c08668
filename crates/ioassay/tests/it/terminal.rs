//! Terminal output: the live view during a run, and what remains after it.

use crate::sandbox::{HANGS, PROGRAM, Sandbox, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The program in a new terminal; killed on drop.
pub(crate) struct Terminal {
    columns: u16,
    child: Child,
    keyboard: File,
    written: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

/// More rows than any output here, so that nothing scrolls out.
const ROWS: u16 = 400;

impl Terminal {
    pub(crate) fn start(
        sandbox: &Sandbox,
        columns: u16,
        args: &[&str],
        environment: &[(&str, &str)],
    ) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(name).unwrap();
        let size = Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();
        let mut command = sandbox.start(PROGRAM);
        command.args(args);
        if args[0] == "run" {
            command.arg("--no-ceilings");
        }
        command.env("TERM", "xterm-256color").env_remove("COLORTERM");
        command.envs(environment.iter().copied());
        command.stdout(terminal.try_clone().unwrap()).stderr(terminal);
        let child = command.spawn().unwrap();
        // Without these copies, the terminal closes when the program ends.
        drop(command);
        let keyboard = File::from(master.try_clone().unwrap());
        let written = Arc::new(Mutex::new(Vec::new()));
        #[expect(clippy::disallowed_methods, reason = "a test may panic")]
        let reader = Some(std::thread::spawn({
            let written = Arc::clone(&written);
            move || read(master, &written)
        }));
        Terminal { columns, child, keyboard, written, reader }
    }

    /// Trials that outlast the test.
    fn long(sandbox: &Sandbox, columns: u16) -> Terminal {
        let args = ["run", "page-latency", ".", "--size=1MiB", "--rounds=100", "--ops=0"];
        let args = [&args[..], &["--cache=as-is", "--time=1h"]].concat();
        Terminal::start(sandbox, columns, &args, &[])
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn written(&self) -> Vec<u8> {
        self.written.lock().unwrap().clone()
    }

    /// The current screen of the terminal.
    fn screen(&self) -> vt100::Parser {
        let mut parser = vt100::Parser::new(ROWS, self.columns, 0);
        parser.process(&self.written());
        parser
    }

    /// All that was ever drawn.
    pub(crate) fn drawn(&self) -> String {
        String::from_utf8_lossy(&self.written()).into_owned()
    }

    /// The text on the screen.
    pub(crate) fn text(&self) -> String {
        self.screen().screen().contents()
    }

    pub(crate) fn wait_until_it_shows(&self, expected: &str) {
        wait_for(expected, || self.text().contains(expected).then_some(()));
    }

    /// Presses Ctrl-C: the terminal shows `^C`. It sends no signal, for it controls no session.
    pub(crate) fn press_control_c(&mut self) {
        self.keyboard.write_all(b"\x03").unwrap();
        self.wait_until_it_shows("^C");
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), signal).unwrap();
    }

    pub(crate) fn end(&mut self) -> ExitStatus {
        let status = wait_for("the end of the run", || self.child.try_wait().unwrap());
        self.reader.take().unwrap().join().unwrap();
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The process is already gone if the test passed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads until the last writer closes the terminal, which returns an error.
fn read(master: OwnedFd, written: &Mutex<Vec<u8>>) {
    let mut master = File::from(master);
    let mut buffer = [0; 4096];
    while let Ok(bytes @ 1..) = master.read(&mut buffer) {
        written.lock().unwrap().extend_from_slice(&buffer[..bytes]);
    }
}

const RUN: [&str; 9] = [
    "run",
    "page-latency",
    ".",
    "--size=1MiB",
    "--rounds=2",
    "--time=10ms",
    "--cache=as-is",
    "--record",
    "record",
];

/// Checks that nothing of the live view remains: the screen begins with the report, or with how
/// long the run would have taken.
fn check_clean(terminal: &Terminal) {
    let text = terminal.text();
    let begins = ["ioassay ", "time: about "].iter().any(|begin| text.starts_with(begin));
    assert!(begins, "{text}");
    check_gone(&text);
}

/// Checks that a text has nothing of the live view.
pub(crate) fn check_gone(text: &str) {
    for left in ["^C", "so far", "no figure yet", "trial 1 of", "writing the test file", "░"] {
        assert!(!text.contains(left), "'{left}' is left in:\n{text}");
    }
}

#[test]
fn a_view_is_shown_while_it_runs_and_nothing_of_it_is_left() {
    for columns in [40, 100] {
        let sandbox = Sandbox::new();
        let mut terminal = Terminal::start(&sandbox, columns, &RUN, &[]);
        terminal.end();
        check_clean(&terminal);
        assert!(terminal.text().trim_end().ends_with("record: record"), "{}", terminal.text());
        let drawn = terminal.drawn();
        assert!(drawn.contains("no figure yet"), "the view was never shown: {drawn}");
    }
}

#[test]
fn a_view_is_narrower_than_its_terminal() {
    for columns in [20, 60, 200] {
        let sandbox = Sandbox::new();
        let terminal = Terminal::long(&sandbox, columns);
        // It comes in pieces.
        let shown = wait_for("three rows", || {
            let parser = terminal.screen();
            let shown: Vec<String> = parser.screen().rows(0, columns).collect();
            // Above it is how long the run will take.
            let view = shown.into_iter().skip_while(|row| !row.starts_with("░░░░"));
            let shown: Vec<String> = view.filter(|row| !row.is_empty()).collect();
            (shown.len() == 3 && shown[2].starts_with("no figure")).then_some(shown)
        });
        let fits = |row: &String| row.trim_end().chars().count() < usize::from(columns);
        assert!(shown.iter().all(fits), "{shown:?}");
    }
}

#[test]
fn a_view_is_gone_when_a_run_is_stopped() {
    for (signal, code, columns) in
        [(Signal::INT, 130, 100), (Signal::INT, 130, 60), (Signal::TERM, 143, 100)]
    {
        let sandbox = Sandbox::new();
        let mut terminal = Terminal::long(&sandbox, columns);
        terminal.wait_until_it_shows("round 1 of 100, trial ");
        if signal == Signal::INT {
            terminal.press_control_c();
        }
        terminal.send(signal);
        assert_eq!(terminal.end().code(), Some(code));
        check_clean(&terminal);
    }
}

#[test]
fn both_sides_of_a_gate_are_one_view_and_nothing_of_it_is_left() {
    let sandbox = Sandbox::new();
    for side in ["here", "there"] {
        std::fs::create_dir(sandbox.path(side)).unwrap();
    }
    let args = ["gate", "page-latency", "here", "--against=there", "--size=1MiB", "--ops=0"];
    let more = ["--invocations=3", "--rounds=6", "--time=30ms", "--cache=as-is", "--record=both/"];
    let mut terminal = Terminal::start(&sandbox, 100, &[&args[..], &more].concat(), &[]);
    terminal.end();
    let text = terminal.text();
    assert!(text.contains("The gate ") && text.contains("record of B: both/"), "{text}");
    check_gone(&text);
    let drawn = terminal.drawn();
    let sides = ["side A, round 1 of 6, trial ", "side B, round 1 of 6, trial "];
    for expected in sides.into_iter().chain(["A: so far ", "B: so far "]) {
        assert!(drawn.contains(expected), "'{expected}' was never shown: {drawn}");
    }
}

/// Nothing redraws during a trial, so the screen comes to rest. A ticking clock would prevent that.
pub(crate) fn check_rests(terminal: &mut Terminal) {
    let began = Instant::now();
    let mut before = terminal.written().len();
    let mut rests_since = Instant::now();
    while rests_since.elapsed() < Duration::from_secs(2) {
        assert!(began.elapsed() < HANGS, "somebody draws while a trial goes on");
        std::thread::sleep(Duration::from_millis(20));
        let now = terminal.written().len();
        if now != before {
            (before, rests_since) = (now, Instant::now());
        }
    }
    assert_eq!(terminal.child.try_wait().unwrap(), None, "there is no trial any more");
}

#[test]
fn nothing_is_drawn_during_a_trial() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::long(&sandbox, 100);
    terminal.wait_until_it_shows("round 1 of 100, trial ");
    check_rests(&mut terminal);
}

#[test]
fn a_quiet_run_shows_its_result_only() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox, 100, &[&RUN[..], &["--quiet"]].concat(), &[]);
    terminal.end();
    let drawn = terminal.drawn();
    for unwanted in ["no figure yet", "trial 1 of", "writing the test file", "record: "] {
        assert!(!drawn.contains(unwanted), "{drawn}");
    }
    check_clean(&terminal);
    assert!(sandbox.path("record").exists());
}

/// Whether the output has colors or other text attributes.
fn has_colours(written: &[u8]) -> bool {
    let text = String::from_utf8_lossy(written).into_owned();
    text.split("\x1b[").skip(1).any(|piece| {
        piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m')
    })
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn colours_are_where_they_may_be() {
    let sandbox = Sandbox::new();
    let check = |args: &[&str], environment: &[(&str, &str)], expected: bool| {
        let record = sandbox.path("record");
        if record.exists() {
            std::fs::remove_file(record).unwrap();
        }
        let mut terminal = Terminal::start(&sandbox, 100, &[&RUN[..], args].concat(), environment);
        terminal.end();
        assert_eq!(has_colours(&terminal.written()), expected, "{args:?} {environment:?}");
    };
    check(&[], &[], true);
    check(&[], &[("NO_COLOR", "1")], false);
    check(&[], &[("NO_COLOR", "")], true);
    check(&["--color=never"], &[], false);
    check(&["--color=always"], &[("NO_COLOR", "1")], true);
    let piped = |color| sandbox.ioassay(&["report", "record", color]).stdout;
    assert!(has_colours(&piped("--color=always")));
    assert!(!has_colours(&piped("--color=auto")));
}
