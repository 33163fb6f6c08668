//! Waits for agents that connect back: listens while they do, takes only those that show the token,
//! and each host once.
//!
//! Whoever connects is untrusted until then: a first line is short and has a deadline, and only so
//! many connections wait at a time. An agent sends its line at once, so those that were silent
//! longest make room for those that come. They are told so: an agent whose line came too late, such
//! as one on a host from which a stranger connects again and again, comes again.

use super::join::{AGENT, BUSY, COORDINATOR, LINE_BYTES_MAX};
use super::token::{Token, is_same};
use crate::deadline::Deadline;
use crate::launch::HostName;
use crate::stop::Stop;
use anyhow::{Context, Result, anyhow, ensure};
use model::printable::printable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How long a connection may take to send its first line.
const FIRST_LINE: Duration = Duration::from_secs(5);

/// Connections that may be waited for at once.
const PENDING_MAX: usize = 64;

/// Connections that are accepted between two looks at what was sent: a stranger may connect without
/// an end.
const ACCEPTED_AT_ONCE: usize = PENDING_MAX / 2;

/// Refusals that are kept; the rest are counted.
const REFUSED_MAX: usize = 8;

/// Interval between checks for signals and for the launcher.
const STEP: Duration = Duration::from_millis(50);

/// A port that agents connect to. It is closed on drop.
#[derive(Debug)]
pub(super) struct AgentPort {
    listener: TcpListener,
    token: Token,
    pending: Vec<Pending>,
    refused: Vec<String>,
    unnamed_count: u64,
}

/// A connection that has not shown a token yet.
#[derive(Debug)]
struct Pending {
    stream: TcpStream,
    from: IpAddr,
    line: Vec<u8>,
    deadline: Deadline,
}

/// Who came.
#[derive(Debug)]
pub(super) struct Arrived {
    /// For each host, its connection; `None` if its agent did not come.
    pub(super) joined: Vec<Option<TcpStream>>,
    /// Connections that were refused, from where and why.
    pub(super) refused: Vec<String>,
}

impl AgentPort {
    /// Listens at `address`, of which the port may be 0: any that is free.
    ///
    /// # Errors
    /// If that is impossible there.
    pub(super) fn open(address: SocketAddr, token: Token) -> Result<AgentPort> {
        let open = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok::<_, std::io::Error>(listener)
        };
        let listener = open().with_context(|| {
            format!(
                "failed to listen for agents at {address}: name an address of this host with \
                 --listen"
            )
        })?;
        Ok(AgentPort {
            listener,
            token,
            pending: Vec::new(),
            refused: Vec::new(),
            unnamed_count: 0,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the OS does not tell.
    pub(super) fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().context("failed to ask the OS for a port's number")
    }

    /// Waits until all `hosts` have joined, for at most `patience`, or as long as others may come.
    /// Then nobody can connect any more.
    pub(super) fn gather(
        mut self,
        hosts: &[HostName],
        patience: Duration,
        mut may_come: impl FnMut() -> bool,
        stop: &Stop,
    ) -> Arrived {
        let deadline = Deadline::after(patience);
        let mut joined: Vec<Option<TcpStream>> = hosts.iter().map(|_| None).collect();
        let mut is_last_look = false;
        loop {
            self.accept();
            self.hear(hosts, &mut joined);
            let is_whole = joined.iter().all(Option::is_some);
            let is_over = deadline.is_over() || stop.is_asked();
            if is_whole || is_over || (is_last_look && self.pending.is_empty()) {
                break;
            }
            // Who connected before the launcher ended is heard.
            is_last_look = !may_come();
            self.wait(deadline.left().min(STEP));
        }
        if self.unnamed_count > 0 {
            self.refused.push(format!("{} more connections were refused", self.unnamed_count));
        }
        Arrived { joined, refused: self.refused }
    }

    /// Takes the connections that are there.
    fn accept(&mut self) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    log::debug!("a connection was lost before it was accepted: {error}");
                    return;
                }
            };
            let deadline = Deadline::after(FIRST_LINE);
            match stream.set_nonblocking(true) {
                Ok(()) => {
                    let from = from.ip().to_canonical();
                    self.make_room();
                    self.pending.push(Pending { stream, from, line: Vec::new(), deadline });
                }
                Err(error) => self.refuse(from.ip(), &anyhow!(error)),
            }
        }
    }

    /// If as many connections are waited for as may be, ends the oldest from the address that has
    /// most of them: others do not make room for a stranger who connects again and again.
    fn make_room(&mut self) {
        if self.pending.len() < PENDING_MAX {
            return;
        }
        let of = |from: IpAddr| self.pending.iter().filter(|it| it.from == from).count();
        let most = self.pending.iter().map(|it| of(it.from)).max().unwrap_or(0);
        if let Some(oldest) = self.pending.iter().position(|it| of(it.from) == most) {
            let Pending { mut stream, from, .. } = self.pending.remove(oldest);
            // It may be an agent whose token is on its way, and which then comes again. Nobody
            // waits for one who does not read that.
            let _ = stream.write_all(format!("{COORDINATOR} {BUSY}\n").as_bytes());
            self.refuse(from, &anyhow!("it sent no token, and others waited to connect"));
        }
    }

    /// Hears the first lines that are there, and lets agents join.
    fn hear(&mut self, hosts: &[HostName], joined: &mut [Option<TcpStream>]) {
        for mut pending in std::mem::take(&mut self.pending) {
            match pending.hear() {
                Ok(None) => self.pending.push(pending),
                Ok(Some(line)) => {
                    let Pending { stream, from, .. } = pending;
                    let welcomed = self
                        .host_of(&line, from, hosts, joined)
                        .and_then(|index| Ok((index, self.welcome(stream)?)));
                    match welcomed {
                        Ok((index, stream)) => joined[index] = Some(stream),
                        Err(reason) => self.refuse(from, &reason),
                    }
                }
                Err(reason) => self.refuse(pending.from, &reason),
            }
        }
    }

    /// The host whose agent sent `line`.
    fn host_of(
        &self,
        line: &str,
        from: IpAddr,
        hosts: &[HostName],
        joined: &[Option<TcpStream>],
    ) -> Result<usize> {
        let mut words = line.split(' ');
        ensure!(words.next() == Some(AGENT), "it is no agent of ioassay");
        let half = words.next().unwrap_or_default();
        ensure!(is_same(self.token.of_agent(), half), "its token is wrong");
        let names: Vec<&str> = words.collect();
        let called = printable(&names.join(" or ")).into_owned();
        let index = index_of(hosts, &names, from)
            .with_context(|| format!("it runs on '{called}', which is none of the hosts"))?;
        ensure!(joined[index].is_none(), "the agent on {} joined already", hosts[index].name());
        Ok(index)
    }

    /// Answers an agent with the coordinator's half of the token.
    fn welcome(&self, mut stream: TcpStream) -> Result<TcpStream> {
        stream.set_nodelay(true).context("failed to send lines at once")?;
        let answer = format!("{COORDINATOR} {}\n", self.token.of_coordinator());
        // It is the first that is sent, so there is room.
        stream.write_all(answer.as_bytes()).context("failed to answer it")?;
        Ok(stream)
    }

    fn refuse(&mut self, from: IpAddr, reason: &anyhow::Error) {
        let refused = format!("a connection from {from} was refused: {reason:#}");
        log::warn!("{refused}");
        if self.refused.len() < REFUSED_MAX {
            self.refused.push(refused);
        } else {
            self.unnamed_count += 1;
        }
    }

    /// Waits until someone connects or sends, for at most `step`.
    fn wait(&self, step: Duration) {
        let mut polled: Vec<PollFd> =
            self.pending.iter().map(|it| PollFd::new(&it.stream, PollFlags::IN)).collect();
        polled.push(PollFd::new(&self.listener, PollFlags::IN));
        let timeout = Timespec::try_from(step).expect("a short wait has few seconds");
        if poll(&mut polled, Some(&timeout)).is_err() {
            // If the OS cannot poll, check at intervals.
            std::thread::sleep(step);
        }
    }
}

impl Pending {
    /// Its first line, once it is whole.
    ///
    /// # Errors
    /// Why none will be.
    fn hear(&mut self) -> Result<Option<String>> {
        let room = LINE_BYTES_MAX - self.line.len() as u64;
        let heard = (&self.stream).take(room).read_to_end(&mut self.line);
        if let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            ensure!(end + 1 == self.line.len(), "it went on before it was answered");
            return Ok(Some(String::from_utf8_lossy(&self.line[..end]).into_owned()));
        }
        match heard {
            Ok(_) if self.line.len() as u64 == LINE_BYTES_MAX => {
                Err(anyhow!("its first line is longer than {LINE_BYTES_MAX} bytes"))
            }
            Ok(_) => Err(anyhow!("it closed the connection before it showed a token")),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let seconds = FIRST_LINE.as_secs();
                ensure!(!self.deadline.is_over(), "it sent no token within {seconds} s");
                Ok(None)
            }
            Err(error) => Err(anyhow!(error).context("failed to read its first line")),
        }
    }
}

/// The host that is called so: by its whole name, by the part before the first dot if only one host
/// has it, or by the address that the connection comes from.
fn index_of(hosts: &[HostName], names: &[&str], from: IpAddr) -> Option<usize> {
    fn place(host: &HostName) -> &str {
        host.name().rsplit_once('@').map_or(host.name(), |(_, place)| place)
    }
    fn short(name: &str) -> &str {
        name.split('.').next().unwrap_or(name)
    }
    let only = |is_it: &dyn Fn(&HostName) -> bool| {
        let mut found = hosts.iter().enumerate().filter(|(_, host)| is_it(host));
        let (index, _) = found.next()?;
        found.next().is_none().then_some(index)
    };
    let by_name = |name: &&str| only(&|host| place(host).eq_ignore_ascii_case(name));
    let by_short = |name: &&str| {
        let is_it = |host: &HostName| {
            let is_address = place(host).parse::<IpAddr>().is_ok();
            !is_address && short(place(host)).eq_ignore_ascii_case(short(name))
        };
        only(&is_it)
    };
    let by_address = || only(&|host| place(host).parse() == Ok(from));
    names.iter().find_map(by_name).or_else(|| names.iter().find_map(by_short)).or_else(by_address)
}

#[cfg(test)]
mod tests {
    use super::super::join::join;
    use super::*;
    use crate::launch::Hosts;
    use std::collections::VecDeque;
    use std::io::{BufRead, BufReader};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    /// What comes of the strangers' connections, each of which is a function of the address, and of
    /// an agent on host `a` that joins after them. Host `b` never comes.
    fn check(strangers: impl FnOnce(SocketAddr, &Token) + Send) -> (bool, Vec<String>) {
        let token = Token::random().unwrap();
        let gathering = AgentPort::open("127.0.0.1:0".parse().unwrap(), token.clone()).unwrap();
        let address = gathering.address().unwrap();
        let hosts = Hosts::load("a,b").unwrap();
        let gathered = thread::scope(|scope| {
            let token = &token;
            let come = move || {
                strangers(address, token);
                show(address, &format!("{AGENT} {} a.cluster\n", token.of_agent()))
            };
            let comes = thread::Builder::new().spawn_scoped(scope, come).unwrap();
            let may_come = || !comes.is_finished();
            let gathered =
                gathering.gather(hosts.all(), Duration::from_secs(60), may_come, &Stop::default());
            assert_eq!(
                comes.join().unwrap(),
                format!("{COORDINATOR} {}\n", token.of_coordinator())
            );
            gathered
        });
        // Nobody can connect any more. A process that another test is just starting has what was
        // open here, until it becomes another program.
        let closed = Deadline::after(Duration::from_secs(60));
        while TcpStream::connect(address).is_ok() {
            assert!(!closed.is_over(), "the port stays open");
            thread::sleep(Duration::from_millis(5));
        }
        assert!(gathered.joined[1].is_none());
        (gathered.joined[0].is_some(), gathered.refused)
    }

    /// The answer to a first line.
    fn show(address: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        // It may be refused before all is written.
        let _ = stream.write_all(line.as_bytes());
        let mut answer = String::new();
        let _ = BufReader::new(stream).read_line(&mut answer);
        answer
    }

    #[test]
    fn strangers_are_refused_and_agents_join() {
        for (line, expected) in [
            (format!("{AGENT} {} a\n", "0".repeat(64)), "its token is wrong"),
            (format!("{AGENT}\n"), "its token is wrong"),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), "it went on before it was answered"),
            ("dance\n".to_owned(), "it is no agent of ioassay"),
            ("\0".repeat(10_000_000), "its first line is longer than 1024 bytes"),
        ] {
            let (is_there, refused) = check(|address, _| assert_eq!(show(address, &line), ""));
            assert!(is_there);
            let expected = format!("a connection from 127.0.0.1 was refused: {expected}");
            assert_eq!(refused, [expected]);
        }
        let (is_there, refused) = check(|address, _| drop(TcpStream::connect(address).unwrap()));
        assert!(is_there && refused[0].contains("before it showed a token"), "{refused:?}");
    }

    #[test]
    fn a_token_is_good_for_each_host_once() {
        let shown = |name: &'static str| {
            move |address: SocketAddr, token: &Token| {
                show(address, &format!("{AGENT} {} {name}\n", token.of_agent()));
            }
        };
        let (_, refused) = check(shown("c\u{1b}[2J"));
        let expected = "it runs on 'c\u{FFFD}[2J', which is none of the hosts";
        assert!(refused[0].ends_with(expected), "{refused:?}");
        // The second is the agent of `check`, which waits for its answer in vain.
        let token = Token::random().unwrap();
        let gathering = AgentPort::open("127.0.0.1:0".parse().unwrap(), token.clone()).unwrap();
        let hosts = Hosts::load("a").unwrap();
        let mut joined = [Some(TcpStream::connect(gathering.address().unwrap()).unwrap())];
        let line = format!("{AGENT} {} a", token.of_agent());
        let from = "127.0.0.1".parse().unwrap();
        let error = gathering.host_of(&line, from, hosts.all(), &joined).unwrap_err().to_string();
        assert_eq!(error, "the agent on a joined already");
        joined = [None];
        assert_eq!(gathering.host_of(&line, from, hosts.all(), &joined).unwrap(), 0);
    }

    /// Those that connect and say nothing do not keep an agent out, however many they are.
    #[test]
    fn whoever_says_nothing_makes_room() {
        let mut silent = Vec::new();
        let (is_there, refused) = check(|address, _| {
            silent.extend((0..200).map(|_| TcpStream::connect(address).unwrap()));
        });
        assert!(is_there);
        let why = "it sent no token, and others waited to connect";
        assert!(refused[..REFUSED_MAX].iter().all(|it| it.ends_with(why)), "{refused:?}");
        assert!(refused.len() == REFUSED_MAX + 1, "{refused:?}");
        assert!(refused[REFUSED_MAX].ends_with("more connections were refused"), "{refused:?}");
    }

    #[test]
    fn whoever_says_nothing_for_long_is_refused() {
        let mut silent = Vec::new();
        let (is_there, refused) = check(|address, _| {
            silent.push(TcpStream::connect(address).unwrap());
            thread::sleep(FIRST_LINE);
        });
        assert!(is_there);
        let from = "a connection from 127.0.0.1 was refused";
        assert_eq!(refused, [format!("{from}: it sent no token within 5 s")]);
    }

    /// A stranger's connections end before those from elsewhere.
    #[test]
    fn whoever_connects_most_makes_room() {
        let token = Token::random().unwrap();
        let mut gathering = AgentPort::open("127.0.0.1:0".parse().unwrap(), token).unwrap();
        let address = gathering.address().unwrap();
        let mut connections = Vec::new();
        let mut connect = |gathering: &mut AgentPort| {
            connections.push(TcpStream::connect(address).unwrap());
            let before = gathering.pending.len() + gathering.refused.len();
            while gathering.pending.len() + gathering.refused.len() == before {
                gathering.accept();
            }
        };
        connect(&mut gathering);
        gathering.pending[0].from = "10.0.0.1".parse().unwrap();
        for _ in 0..PENDING_MAX + 3 {
            connect(&mut gathering);
        }
        assert_eq!(gathering.pending.len(), PENDING_MAX);
        assert_eq!(gathering.pending[0].from, "10.0.0.1".parse::<IpAddr>().unwrap());
        assert_eq!(gathering.refused.len(), 4);
    }

    /// The agent's line is late, and its place was taken: it is told, and comes again.
    #[test]
    fn an_agent_whose_place_was_taken_comes_again() {
        let token = Token::random().unwrap();
        let mut gathering = AgentPort::open("127.0.0.1:0".parse().unwrap(), token).unwrap();
        let address = gathering.address().unwrap();
        let late = TcpStream::connect(address).unwrap();
        let others = (0..PENDING_MAX).map(|_| TcpStream::connect(address).unwrap());
        let _others: Vec<_> = others.collect();
        while gathering.refused.is_empty() {
            gathering.accept();
        }
        let mut told = String::new();
        BufReader::new(&late).read_line(&mut told).unwrap();
        assert_eq!(told, format!("{COORDINATOR} {BUSY}\n"));

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, token) = (listener.local_addr().unwrap(), Token::random().unwrap());
        thread::scope(|scope| {
            let come = || join(&[address], &token, &Stop::default());
            let comes = thread::Builder::new().spawn_scoped(scope, come).unwrap();
            let answer = |half: &str| {
                let (stream, _) = listener.accept().unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                (&stream).write_all(format!("{COORDINATOR} {half}\n").as_bytes()).unwrap();
            };
            answer(BUSY);
            // This connection ends before the token is read.
            listener.accept().unwrap().0.peek(&mut [0]).unwrap();
            answer(token.of_coordinator());
            comes.join().unwrap().unwrap();
        });
    }

    /// Silent connections from the agent's own address, without an end.
    #[test]
    fn an_agent_joins_through_a_flood_from_its_own_address() {
        let token = Token::random().unwrap();
        let gathering = AgentPort::open("127.0.0.1:0".parse().unwrap(), token.clone()).unwrap();
        let address = gathering.address().unwrap();
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let hosts = Hosts::load(&own).unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let flood = || {
                let mut silent = VecDeque::new();
                while !is_over.load(Ordering::Relaxed) {
                    silent.extend(TcpStream::connect_timeout(&address, FIRST_LINE).ok());
                    if silent.len() > 2 * PENDING_MAX {
                        silent.pop_front();
                    }
                }
            };
            for _ in 0..2 {
                thread::Builder::new().spawn_scoped(scope, flood).unwrap();
            }
            let come = || {
                // The flood is there first.
                thread::sleep(Duration::from_millis(300));
                join(&[address], &token, &Stop::default())
            };
            let comes = thread::Builder::new().spawn_scoped(scope, come).unwrap();
            let long = Duration::from_secs(60);
            let gathered = gathering.gather(hosts.all(), long, || true, &Stop::default());
            is_over.store(true, Ordering::Relaxed);
            assert!(gathered.joined[0].is_some(), "{gathered:?}");
            comes.join().unwrap().unwrap();
        });
    }

    #[test]
    fn an_agent_finds_its_coordinator_behind_a_dead_address() {
        let token = Token::random().unwrap();
        let gathering = AgentPort::open("127.0.0.1:0".parse().unwrap(), token.clone()).unwrap();
        let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let addresses = [dead, gathering.address().unwrap()];
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let hosts = Hosts::load(&own).unwrap();
        thread::scope(|scope| {
            let come = || join(&addresses, &token, &Stop::default());
            let comes = thread::Builder::new().spawn_scoped(scope, come).unwrap();
            let long = Duration::from_secs(60);
            let gathered = gathering.gather(hosts.all(), long, || true, &Stop::default());
            assert!(gathered.joined[0].is_some(), "{gathered:?}");
            comes.join().unwrap().unwrap();
        });
    }

    /// Who listens there instead of the coordinator gets no agent.
    #[test]
    fn an_agent_does_not_obey_a_stranger() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        for (answer, expected) in [
            (format!("{COORDINATOR} {}\n", "0".repeat(64)), "does not know the token"),
            ("HTTP/1.1 400 Bad Request\n".to_owned(), "does not know the token"),
            (String::new(), "it refused this agent"),
        ] {
            thread::scope(|scope| {
                let (token, stop) = (Token::random().unwrap(), Stop::default());
                let come = move || join(&[address], &token, &stop);
                let comes = thread::Builder::new().spawn_scoped(scope, come).unwrap();
                let (stream, _) = listener.accept().unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                (&stream).write_all(answer.as_bytes()).unwrap();
                drop(stream);
                let error = format!("{:#}", comes.join().unwrap().unwrap_err());
                assert!(error.contains(expected), "{error}");
            });
        }
    }

    #[test]
    fn a_host_is_known_by_its_names_or_its_address() {
        let hosts = Hosts::load("n1,n2.a,n2.b,root@n3,10.0.0.4,10.0.0.5").unwrap();
        let from = "10.0.0.5".parse().unwrap();
        let index = |names: &[&str]| index_of(hosts.all(), names, from);
        assert_eq!(index(&["n1"]), Some(0));
        assert_eq!(index(&["N1.cluster"]), Some(0));
        assert_eq!(index(&["n2.b"]), Some(2));
        assert_eq!(index(&["n2"]), Some(5), "two have this name, and one this address");
        assert_eq!(index(&["vm", "n3"]), Some(3));
        assert_eq!(index(&[]), Some(5));
        let elsewhere = "10.0.0.9".parse().unwrap();
        assert_eq!(index_of(hosts.all(), &["n4", "10"], elsewhere), None);
    }
}
