//! Programs that read files: how many of the bytes came from a device.

use super::Judged;
use super::traced::{bytes_read, check_asked};
use super::{FILE_BYTES, PAGE_BYTES, check_device_reads, count, fact, file, last_path, on_disk};
use crate::honesty::plant::tried;
use crate::sandbox::{Sandbox, argument, skip};
use serde_json::Value;

/// Two states, each verified.
const STATES: &str = "--cache=warm,cold";

/// Judges `command` warm and cold, and checks that what served it is the page cache and the device.
#[track_caller]
fn check_served(sandbox: &Sandbox, command: &[&str], options: &[&str], bytes: u64) -> Judged {
    let args = [options, &[STATES, "--"], command].concat();
    let judged = Judged::of(sandbox, &args);
    check_device_reads(&judged, bytes);
    assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
    assert_eq!(judged.served_by("cold"), "device", "{}", judged.case("cold"));
    judged
}

/// The same of a command that only reads the file `f` by calls like `read`, which strace sums up.
/// What it reads of its own files is at most `of_program`.
#[track_caller]
fn check_reader(sandbox: &Sandbox, command: &[&str], of_program: u64) {
    let bytes = bytes_read(sandbox, command);
    assert!(bytes >= FILE_BYTES, "{command:?} read only {bytes}");
    let judged = check_served(sandbox, command, &[], FILE_BYTES);
    let seen = judged.file("f");
    assert_eq!(
        (seen["bytes_before"].as_u64(), fact(seen, "opens", "reading")),
        (Some(FILE_BYTES), 1)
    );
    assert!(fact(seen, "opens", "writing") == 0 && fact(seen, "mappings", "shared") == 0, "{seen}");
    check_asked(&judged, "warm", bytes, of_program);
    check_asked(&judged, "cold", bytes, of_program);
}

#[test]
fn dd_that_reads_asks_for_what_strace_sums_up() {
    let test = "dd_that_reads_asks_for_what_strace_sums_up";
    let Some(sandbox) = on_disk(test, &["dd", "strace"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    tried(|| check_reader(&sandbox, &["dd", "if=f", "of=/dev/null", "bs=64k"], 0));
}

/// Nothing but the device can serve it: that the file is cached does not matter.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn dd_past_the_page_cache_reads_from_the_device_in_each_state() {
    let test = "dd_past_the_page_cache_reads_from_the_device_in_each_state";
    let Some(sandbox) = on_disk(test, &["dd"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    tried(|| {
        let command = ["dd", "if=f", "of=/dev/null", "bs=1M", "iflag=direct"];
        let judged = Judged::of(&sandbox, &[&[STATES, "--"], &command[..]].concat());
        assert_eq!(fact(judged.file("f"), "opens", "direct"), 1);
        for cache in ["warm", "cold"] {
            assert_eq!(judged.served_by(cache), "device", "{}", judged.case(cache));
            for trial in judged.evidence(cache) {
                assert_eq!(count(trial, "task_read_bytes"), FILE_BYTES, "{trial}");
            }
        }
    });
}

/// What an interpreter or a virtual machine reads of its own is no doubt about where the file came
/// from.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn interpreters_that_read_a_file_are_served_by_what_has_the_file() {
    let test = "interpreters_that_read_a_file_are_served_by_what_has_the_file";
    let python = "f = open('f', 'rb', 0)\nwhile f.read(1 << 20): pass\n";
    let node = "const fs = require('fs'); const d = fs.openSync('f');\n\
                const b = Buffer.alloc(65536); while (fs.readSync(d, b) > 0);\n";
    let java = "import java.io.*;\n\
                public class Reads { public static void main(String[] a) throws IOException {\n\
                try (InputStream f = new FileInputStream(\"f\")) {\n\
                byte[] b = new byte[65536]; while (f.read(b) > 0); } } }\n";
    let programs = [
        ("python3", &["/usr/bin/python3", "-I", "-S", "reads.py"][..], "reads.py", python),
        ("node", &["node", "reads.js"], "reads.js", node),
        ("java", &["java", "Reads.java"], "Reads.java", java),
    ];
    for (program, command, source, text) in programs {
        let Some(sandbox) = on_disk(test, &[program, "strace"]) else { continue };
        file(&sandbox, "f", FILE_BYTES);
        std::fs::write(sandbox.path(source), text).unwrap();
        tried(|| check_reader(&sandbox, command, 1 << 20));
    }
}

/// With one file, ripgrep maps it, and no call tells what it asks for. With a folder, it reads.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn ripgrep_is_served_by_the_page_cache_when_warm_and_by_the_device_when_cold() {
    let test = "ripgrep_is_served_by_the_page_cache_when_warm_and_by_the_device_when_cold";
    let Some(sandbox) = on_disk(test, &["rg", "strace"]) else { return };
    std::fs::create_dir(sandbox.path("tree")).unwrap();
    let bytes = FILE_BYTES / 4;
    for name in ["a", "b", "c", "d"] {
        file(&sandbox, &format!("tree/{name}"), bytes);
    }
    let searches = |place: &'static str| ["rg", "--no-config", "-a", "-c", "[0-9]", place];
    tried(|| {
        let command = searches("tree");
        let judged = check_served(&sandbox, &command, &[], FILE_BYTES);
        for name in ["a", "b", "c", "d"] {
            assert_eq!(fact(judged.file(&format!("tree/{name}")), "opens", "reading"), 1);
        }
        assert!(count(judged.facts(), "threads") > 1, "{}", judged.facts());
        let sum = bytes_read(&sandbox, &command);
        check_asked(&judged, "warm", sum, 0);
        check_asked(&judged, "cold", sum, 0);
    });
    tried(|| {
        let judged = check_served(&sandbox, &searches("tree/a"), &[], bytes);
        let seen = judged.file("a");
        let mappings = fact(seen, "mappings", "shared") + fact(seen, "mappings", "private");
        assert!(mappings >= 1, "{seen}");
        for trial in judged.evidence("warm") {
            assert!(count(trial, "task_rchar_bytes") < bytes / 2, "{trial}");
        }
    });
}

/// Its temporary files are served by the page cache, also when the file that it sorts is not.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn sort_reads_its_temporary_files_from_the_page_cache() {
    let test = "sort_reads_its_temporary_files_from_the_page_cache";
    let Some(sandbox) = on_disk(test, &["sort", "strace"]) else { return };
    let line = |number: u64| format!("{:016x}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let lines: String = (0..500_000).map(line).collect();
    let bytes = lines.len() as u64;
    std::fs::write(sandbox.path("f"), lines).unwrap();
    drop(std::fs::File::open(sandbox.path("f")).and_then(|file| file.sync_all()));
    let command = ["sort", "-S", "2M", "-T", ".", "f", "-o", "sorted"];
    tried(|| {
        let judged = Judged::of(&sandbox, &[&[STATES, "--"], &command[..]].concat());
        check_device_reads(&judged, bytes);
        assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
        assert_eq!(judged.served_by("cold"), "mixed", "{}", judged.case("cold"));
        let is_temporary =
            |file: &&serde_json::Value| file["created"] == true && file["removed"] == true;
        let temporary: Vec<_> = judged.data_files().filter(is_temporary).collect();
        assert!(temporary.len() >= 2, "{}", judged.facts());
        assert!(temporary.iter().all(|file| last_path(file).contains("/sort")), "{temporary:?}");
        let sum = bytes_read(&sandbox, &command);
        assert!(sum >= 2 * bytes, "{sum}");
        check_asked(&judged, "cold", sum, 64 << 10);
    });
}

/// Writes two programs that load `f`: one maps it and touches its pages in random order, the other
/// reads large blocks past the page cache.
fn write_loaders(sandbox: &Sandbox) {
    let mapped = "import mmap, os, random\n\
                  f = os.open('f', os.O_RDONLY)\n\
                  m = mmap.mmap(f, 0, prot=mmap.PROT_READ)\n\
                  m.madvise(mmap.MADV_RANDOM)\n\
                  pages = list(range(len(m) // 4096))\n\
                  random.Random(1).shuffle(pages)\n\
                  for page in pages: m[page * 4096]\n";
    let direct = "import mmap, os\n\
                  f = os.open('f', os.O_RDONLY | os.O_DIRECT)\n\
                  b = mmap.mmap(-1, 4 << 20)\n\
                  while os.readv(f, [b]): pass\n";
    std::fs::write(sandbox.path("mapped.py"), mapped).unwrap();
    std::fs::write(sandbox.path("direct.py"), direct).unwrap();
}

/// How often a run may be disturbed.
const TRIES: u32 = 3;

/// The answer names the requests of the first, of which the device would give more to larger ones.
/// Where others keep it from its device, nothing is said.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn small_requests_one_at_a_time_bound_a_mapped_model_and_not_a_direct_one() {
    let test = "small_requests_one_at_a_time_bound_a_mapped_model_and_not_a_direct_one";
    let Some(sandbox) = on_disk(test, &["python3"]) else { return };
    file(&sandbox, "f", FILE_BYTES / 2);
    write_loaders(&sandbox);
    let [mapped, direct] =
        ["mapped", "direct"].map(|name| format!("/usr/bin/python3 -I -S {name}.py"));
    let own = ["--cache=cold", "--rounds=7", "--invocations=1", "--quiet", "--json"];
    for attempt in 0..TRIES {
        let record = sandbox.state().join(format!("loaders{attempt}"));
        let args = [&["judge", &mapped, &direct], &own[..], &["--record", argument(&record)]];
        let judged = sandbox.json(&args.concat());
        let text = sandbox.judges(&["report", argument(&record)]);
        let bounds = judged["commands"].as_array().unwrap();
        let of = |name: &str| {
            let is_it = |it: &&Value| it["case"].as_str().unwrap().contains(name);
            bounds.iter().find(is_it).unwrap_or_else(|| panic!("no {name} in {bounds:?}"))
        };
        let requests = &of("direct")["device"]["requests"];
        assert!(requests.is_null() || requests["bytes"].as_f64() >= Some(65536.0), "{requests}");
        let (bound, device) = (&of("mapped")["bound"], &of("mapped")["device"]);
        let requests = &device["requests"];
        if bound == "requests" {
            let bytes = requests["bytes"].as_f64().unwrap();
            assert!((3000.0..=4096.0).contains(&bytes), "{requests}");
            let said = "mapped.py, cold: the device gives ";
            let line = text.lines().find(|line| line.starts_with("Requests of "));
            assert!(line.is_some_and(|line| line.contains(" KiB at depth ")), "{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(said) && words.contains("to 1MiB at depth 8."), "{text}");
            return;
        }
        let is_kept_from_it = requests["busy_share"].as_f64().is_none_or(|share| share < 0.5);
        let is_unsure = device["of_ceiling"]["high"].as_f64().is_none_or(|share| share >= 0.8);
        assert!(bound == "unknown" && (is_kept_from_it || is_unsure), "{bound}: {device}");
    }
    skip(test, "others keep programs from the processor or the device");
}

/// A model that is loaded by mapping it, in random order, against large direct reads: the requests
/// that the device got are what tells them apart.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_mapped_model_reaches_the_device_in_pages_and_a_direct_one_in_large_requests() {
    let test = "a_mapped_model_reaches_the_device_in_pages_and_a_direct_one_in_large_requests";
    let Some(sandbox) = on_disk(test, &["python3"]) else { return };
    let bytes = 4 * FILE_BYTES;
    file(&sandbox, "f", bytes);
    write_loaders(&sandbox);
    let judged = |script: &str| {
        let command = ["/usr/bin/python3", "-I", "-S", script];
        Judged::of(&sandbox, &[&["--cache=cold", "--"], &command[..]].concat())
    };
    // Others may use the device meanwhile. Each of their requests has a page or more.
    let check = |judged: &Judged, is_right: &dyn Fn(u64, u64) -> bool| {
        assert_eq!(judged.served_by("cold"), "device", "{}", judged.case("cold"));
        for trial in judged.evidence("cold") {
            let own = count(trial, "task_read_bytes");
            assert!(own >= bytes - bytes / 100, "{trial}");
            let others = count(trial, "device_read_bytes").saturating_sub(own) / PAGE_BYTES;
            let all = count(trial, "device_reads");
            assert!(is_right(all.saturating_sub(others), all), "{trial}");
        }
    };
    tried(|| {
        let judged = judged("mapped.py");
        let seen = judged.file("f");
        assert_eq!((fact(seen, "mappings", "shared"), fact(seen, "hints", "random")), (1, 1));
        check(&judged, &|_, most| most >= bytes / (2 * PAGE_BYTES));
    });
    tried(|| {
        let judged = judged("direct.py");
        assert_eq!(fact(judged.file("f"), "opens", "direct"), 1);
        check(&judged, &|least, _| least <= bytes / (64 << 10));
    });
}
