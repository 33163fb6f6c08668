//! The axis `hosts`: how many of them measure a case.

use super::{Changes, Recipe};
use crate::group::{AxisGrid, ValueList};
use crate::symbol::{count_blocks, doublings};
use anyhow::{Result, bail};
use model::case::{Case, Io, Populated};
use model::list::listed;
use model::part::Whose;
use model::taking_part::TakingPart;
use model::units;

/// The axis.
const HOSTS: &str = "hosts";

impl Recipe {
    /// The recipe for so many hosts: symbols of the axis stand for numbers.
    pub fn on_hosts(mut self, hosts: u32) -> Recipe {
        self.hosts = Some(hosts);
        for group in self.cases.iter_mut().chain(&mut self.aside).chain([&mut self.axes]) {
            resolve(group, hosts);
        }
        self
    }

    /// Refuses a recipe whose trials follow each other, for what measures cases in turns.
    ///
    /// # Errors
    /// If it is one.
    pub fn check_takes_turns(&self, what: &str) -> Result<()> {
        if self.sustain.is_some() {
            bail!(
                "'{}' follows one rate over time, which {what} cannot do yet: use 'ioassay run {}' \
                 for each by itself",
                self.name,
                self.name
            );
        }
        Ok(())
    }

    /// Gives a case the size of its file, and the number of operations that depends on it.
    pub(super) fn settle_size(&self, case: &mut Case) {
        let hosts = match case.hosts() {
            TakingPart::All => self.hosts.unwrap_or(1),
            TakingPart::First(hosts) => hosts,
            TakingPart::Only(_) => 1,
        };
        let grows = |io: &&mut Io| self.size_per_host && io.files == Whose::Shared;
        if let Some(io) = case.io_mut().filter(grows) {
            io.size = io.size.saturating_mul(hosts.into()).min(units::BYTES_MAX);
        }
        count_blocks(case);
    }
}

impl Changes {
    /// The same for what the command line changes.
    pub fn on_hosts(mut self, hosts: u32) -> Changes {
        resolve(&mut self.axes, hosts);
        self
    }
}

fn resolve(group: &mut AxisGrid, hosts: u32) {
    let Some(values) = group.get_mut(HOSTS) else { return };
    let numbers = |text: String| match text.as_str() {
        "doubling" => doublings(1, hosts.into(), |number| number.to_string()),
        "each" => (0..hosts).map(|number| TakingPart::Only(number).to_string()).collect(),
        _ => vec![text],
    };
    *values = ValueList::from_texts(values.texts().into_iter().flat_map(numbers).collect());
}

/// Why `case` cannot be measured on this machine alone, if it needs several hosts.
pub fn refusal_alone(case: &Case) -> Option<String> {
    if case.io().is_some_and(|io| io.files == Whose::Shared) {
        return Some("several hosts share a file: name them with --hosts".to_owned());
    }
    let hosts = case.hosts().needs();
    (hosts > 1).then(|| format!("it needs {hosts} hosts: name them with --hosts"))
}

/// Why `case` cannot be measured on so many hosts, of which `apart` do not share the directory.
pub fn refusal(case: &Case, hosts: u32, apart: &[String]) -> Option<String> {
    let needs = case.hosts().needs();
    if needs > hosts {
        return Some(format!("it needs {needs} hosts, and there are {hosts}"));
    }
    if hosts > 1 && case.read().is_some() && case.populated() == Some(Populated::Written) {
        return Some(
            "a host reads what another one wrote: use populated readahead or random".to_owned(),
        );
    }
    let io = case.io().filter(|io| io.files == Whose::Shared)?;
    if !apart.is_empty() {
        return Some(format!(
            "hosts share a file only in a directory that all share, and {} did not see there what \
             the first host created: name a directory of a file system that all have",
            listed(apart)
        ));
    }
    let threads = u64::from(io.threads) * u64::from(case.hosts().count(hosts));
    (io.blocks() < threads).then(|| {
        format!(
            "the file has {} blocks, fewer than the {threads} threads of all hosts: some would \
             have no work",
            io.blocks()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{MetadataWork, ReadWork, Work};

    #[test]
    fn doubling_ends_with_all_hosts() {
        let check = |hosts, given: &[&str], expected: &[&str]| {
            let given = given.iter().map(|text| (*text).to_owned()).collect();
            let mut axes = AxisGrid::from([(HOSTS.to_owned(), ValueList::from_texts(given))]);
            resolve(&mut axes, hosts);
            assert_eq!(axes[HOSTS].texts(), expected);
        };
        check(1, &["doubling"], &["1"]);
        check(4, &["doubling"], &["1", "2", "4"]);
        check(6, &["doubling"], &["1", "2", "4", "6"]);
        check(4, &["all", "3"], &["all", "3"]);
        check(3, &["each", "all"], &["only-1", "only-2", "only-3", "all"]);
    }

    fn who(text: &str) -> TakingPart {
        text.parse().expect("it says which")
    }

    /// What hosts share is as many times as large, if the size is what each of them moves.
    #[test]
    fn a_shared_file_has_the_size_of_all_its_hosts() {
        let size = |per_host: bool, taking_part: &str, files| {
            let text = format!(
                "name = 'r'\nquestion = '?'\nsize_per_host = {per_host}\n[[cases]]\nblock = '4KiB'"
            );
            let recipe = super::super::parse(&text).expect("it is a recipe").on_hosts(4);
            let io = Io { hosts: who(taking_part), files, size: 1 << 20, ..Io::default() };
            let mut case = Case::own(Work::Read(ReadWork { io, ..ReadWork::default() }));
            recipe.settle_size(&mut case);
            case.file_size().expect("it has a file") >> 20
        };
        let (own, shared) = (Whose::Own, Whose::Shared);
        assert_eq!(["all", "only-1", "2"].map(|hosts| size(true, hosts, shared)), [4, 1, 2]);
        assert_eq!(["all", "only-1", "2"].map(|hosts| size(true, hosts, own)), [1, 1, 1]);
        assert_eq!(["all", "only-1", "2"].map(|hosts| size(false, hosts, shared)), [1, 1, 1]);
    }

    #[test]
    fn a_case_is_refused_where_its_hosts_are_not() {
        let case = |hosts: &str, files| {
            let hosts = who(hosts);
            let io = Io { hosts, files, size: 1 << 20, block: 512 << 10, ..Io::default() };
            Case::own(Work::Read(ReadWork { io, ..ReadWork::default() }))
        };
        let (own, shared) = (Whose::Own, Whose::Shared);
        let names = |hosts: &str| {
            let hosts = who(hosts);
            Case::own(Work::Metadata(MetadataWork { hosts, ..MetadataWork::default() }))
        };
        assert_eq!(refusal_alone(&names("1")), None);
        assert_eq!(refusal(&names("2"), 2, &[]), None);
        assert!(refusal_alone(&names("4")).is_some_and(|it| it.contains("it needs 4 hosts")));
        assert!(refusal(&names("4"), 2, &[]).is_some_and(|it| it.contains("it needs 4 hosts")));
        assert_eq!(refusal_alone(&case("all", own)), None);
        assert_eq!(refusal_alone(&case("1", own)), None);
        for wrong in [case("2", own), case("1", shared), case("all", shared)] {
            let reason = refusal_alone(&wrong).expect("it needs others");
            assert!(reason.contains("--hosts"), "{reason}");
        }
        let apart = ["b".to_owned()];
        assert_eq!(refusal(&case("2", own), 2, &apart), None);
        assert_eq!(refusal(&case("all", shared), 2, &[]), None);
        for (case, hosts, apart, expected) in [
            (case("3", own), 2, &[][..], "it needs 3 hosts, and there are 2"),
            (case("only-3", own), 2, &[], "it needs 3 hosts, and there are 2"),
            (case("all", shared), 2, &apart, "and b did not see there what the first host created"),
            (case("all", shared), 4, &[], "fewer than the 4 threads of all hosts"),
        ] {
            let reason = refusal(&case, hosts, apart).expect("it cannot be measured");
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
