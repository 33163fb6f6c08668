//! What happened on the path while a run went on: each fault with its silent twins.

use crate::finding::{Code, Severity};
use crate::{RunFinding, assess};
use model::path::{ArrayHop, FileSystemHop, Hop, HopKind};
use model::record::Record;
use model::vitals::{
    CapPage, CapTimes, DriveLog, MemoryErrors, PartVitals, SmartPage, Throttles, Vitals,
};
use model::zoo;

/// Codes of what can happen.
const CODES: [Code; 4] = [Code::Hot, Code::Capped, Code::Rebuilding, Code::HardwareErrors];

fn findings(parts: Vec<PartVitals>) -> Vec<RunFinding> {
    let record = Record { vitals: parts, ..zoo::record() };
    let mut found = assess(&record).findings;
    found.retain(|found| CODES.contains(&found.finding.code));
    assert!(found.iter().all(|it| it.is_of_run() && it.finding.severity == Severity::Note));
    found
}

/// A part of 60 s.
fn part(before: Vitals, after: Vitals) -> PartVitals {
    let after = Vitals { at_ms: 60_000, ..after };
    PartVitals { invocation: 0, before, after }
}

/// What is said of a part; empty if nothing.
fn said(before: Vitals, after: Vitals) -> Vec<(Code, String)> {
    let found = findings(vec![part(before, after)]);
    found.into_iter().map(|found| (found.finding.code, found.finding.message)).collect()
}

#[track_caller]
fn check(before: Vitals, after: Vitals, expected: &[(Code, &str)]) {
    let said = said(before, after);
    let texts: Vec<(Code, &str)> = said.iter().map(|(code, text)| (*code, &**text)).collect();
    assert_eq!(texts, expected);
}

fn smart(page: SmartPage) -> Vitals {
    let smart = Some(page);
    let drives = vec![DriveLog { name: "nvme0n1".to_string(), smart, capped: None }];
    Vitals { drives, ..Vitals::default() }
}

/// A drive that was slow before the run, and maybe in it.
fn slowed(slowed_times: [u32; 2], slowed_s: [u32; 2]) -> Vitals {
    smart(SmartPage { slowed_times, slowed_s, warning_minutes: 7, ..SmartPage::default() })
}

#[test]
fn a_drive_that_slowed_itself_down_in_the_run_says_so() {
    let then = || slowed([40, 2], [900, 30]);
    let told = "nvme0n1 slowed itself down because of heat in this run: 4 times, for 13 s";
    check(then(), slowed([43, 3], [910, 33]), &[(Code::Hot, told)]);
    let once = "nvme0n1 slowed itself down because of heat in this run: once";
    check(then(), slowed([41, 2], [900, 30]), &[(Code::Hot, once)]);
    // It did so before.
    check(then(), then(), &[]);
    // One end is unknown, and counters that go back are those of another drive.
    check(Vitals::default(), then(), &[]);
    check(then(), Vitals::default(), &[]);
    check(then(), slowed([0, 0], [0, 0]), &[]);
    let mut other = slowed([43, 3], [910, 33]);
    other.drives[0].name = "nvme1n1".to_string();
    check(then(), other, &[]);
}

/// Some drives count only that.
#[test]
fn a_drive_above_its_warning_may_have_slowed_down() {
    let warned = |warning_minutes, critical_minutes| {
        smart(SmartPage { warning_minutes, critical_minutes, ..SmartPage::default() })
    };
    let told = "nvme0n1 counted 3 min at its warning temperature or above in this run: it may have \
                slowed itself down";
    check(warned(10, 1), warned(13, 2), &[(Code::Hot, told)]);
    check(warned(10, 1), warned(10, 1), &[]);
}

#[test]
fn cpus_that_slowed_themselves_down_in_the_run_say_so() {
    let of = |cpus, core, package| Vitals {
        throttles: Some(Throttles { cpus, core, package: Some(package), core_ms: None }),
        ..Vitals::default()
    };
    let told = "CPUs slowed themselves down because of heat or power in this run: the OS counted \
                it 9 times, added up over CPUs";
    check(of(8, 5, 16), of(8, 6, 24), &[(Code::Hot, told)]);
    check(of(8, 5, 16), of(8, 5, 16), &[]);
    check(Vitals::default(), of(8, 5, 16), &[]);
    // Another CPU came: its past is not of this run.
    check(of(8, 5, 16), of(9, 6, 24), &[]);
}

fn capped(volume: Option<CapTimes>, instance: CapTimes) -> Vitals {
    let capped = Some(CapPage { volume, instance });
    let drives = vec![DriveLog { name: "nvme1n1".to_string(), smart: None, capped }];
    Vitals { drives, ..Vitals::default() }
}

#[test]
fn a_volume_says_which_limit_held_it_back_and_how_long() {
    let at = |iops_us, throughput_us| CapTimes { iops_us, throughput_us };
    let then = || capped(Some(at(1_000, 2_000)), at(3_000, 4_000));
    let told = "nvme1n1 counted what held it back in this run: the volume's limit of throughput \
                for 12.0 s (20.0 % of the run)";
    check(then(), capped(Some(at(1_000, 12_002_000)), at(3_000, 4_000)), &[(Code::Capped, told)]);
    let both = "nvme1n1 counted what held it back in this run: the volume's limit of I/Os a second \
                for 6.00 s (10.0 % of the run) and the instance's limit of I/Os a second for \
                600 ms (1.00 % of the run)";
    let after = capped(Some(at(6_001_000, 2_000)), at(603_000, 4_000));
    check(then(), after, &[(Code::Capped, both)]);
    // A drive of the instance has no limits of its own.
    let local = |throughput_us| capped(None, at(0, throughput_us));
    let told = "nvme1n1 counted what held it back in this run: the instance's limit of throughput \
                for 30.0 s (50.0 % of the run)";
    check(local(5), local(30_000_005), &[(Code::Capped, told)]);
    check(local(5), local(5), &[]);
    check(then(), then(), &[]);
    check(Vitals::default(), then(), &[]);
}

fn on(kind: HopKind) -> Vitals {
    let disk = Hop::new("sda", HopKind::Disk(Box::default()), Vec::new());
    Vitals { paths: vec![Hop::new("md0", kind, vec![disk])], ..Vitals::default() }
}

#[test]
fn an_array_that_begins_or_ends_to_rebuild_itself_in_the_run_is_told() {
    let array = |action: Option<&str>| {
        let action = action.map(str::to_string);
        on(HopKind::Array(ArrayHop { action, ..ArrayHop::default() }))
    };
    let began = "md0 began: check in this run: figures before and after that may differ";
    check(array(Some("idle")), array(Some("check")), &[(Code::Rebuilding, began)]);
    let ended = "md0 ended: recover in this run: figures before and after that may differ";
    check(array(Some("recover")), array(Some("idle")), &[(Code::Rebuilding, ended)]);
    // It goes on all the time, which is told of its path.
    check(array(Some("check")), array(Some("check")), &[]);
    check(array(Some("idle")), array(Some("idle")), &[]);
    // What is not known has no end.
    for unknown in [None, Some(""), Some("frozen")] {
        check(array(Some("check")), array(unknown), &[]);
        check(array(unknown), array(Some("check")), &[]);
    }
    let btrfs = |file_system: &str, operation: Option<&str>| {
        let (file_system, operation) = (file_system.to_string(), operation.map(str::to_string));
        on(HopKind::FileSystem(FileSystemHop {
            file_system,
            operation,
            ..FileSystemHop::default()
        }))
    };
    let began = "md0 began: balance in this run: figures before and after that may differ";
    let balance = || btrfs("btrfs", Some("balance"));
    check(btrfs("btrfs", None), balance(), &[(Code::Rebuilding, began)]);
    check(balance(), balance(), &[]);
}

#[test]
fn errors_of_the_hardware_in_the_run_are_told() {
    let memory = |controllers, corrected, uncorrected| Vitals {
        memory_errors: Some(MemoryErrors { controllers, corrected, uncorrected }),
        ..Vitals::default()
    };
    let told = "the hardware counted in this run: 3 corrected errors of memory and 1 uncorrected \
                error of memory";
    check(memory(2, 5, 0), memory(2, 8, 1), &[(Code::HardwareErrors, told)]);
    check(memory(2, 5, 1), memory(2, 5, 1), &[]);
    check(Vitals::default(), memory(2, 5, 1), &[]);
    check(memory(1, 5, 0), memory(2, 8, 1), &[]);
    let drive = |media_errors| smart(SmartPage { media_errors, ..SmartPage::default() });
    let told = "the hardware counted in this run: 2 media errors of nvme0n1";
    check(drive(3), drive(5), &[(Code::HardwareErrors, told)]);
    check(drive(3), drive(3), &[]);
}

/// What happened between the parts of a run that was interrupted is not of the run.
#[test]
fn what_happened_in_several_parts_is_added_up() {
    let of = |times, seconds| slowed([times, 0], [seconds, 0]);
    let parts = vec![part(of(1, 10), of(2, 12)), part(of(50, 900), of(51, 905))];
    let found = findings(parts);
    let told = "nvme0n1 slowed itself down because of heat in this run: 2 times, for 7 s";
    assert_eq!(found[0].finding.message, told);
    assert_eq!(findings(vec![part(of(1, 10), of(1, 10)), part(of(9, 90), of(9, 90))]), []);
}
