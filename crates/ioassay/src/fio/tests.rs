//! Job files as recipes: what becomes of options, and what their authors are told.

use super::*;

/// The import of a job file on a machine with 16 GiB of memory.
fn imported(text: &str) -> Result<ImportedJobs> {
    let here = Here { memory: Some(16 << 30), ..Here::nowhere() };
    import(text, "job.fio", &here)
}

/// The import of one job with these options, one in a line.
fn job(options: &str) -> ImportedJobs {
    imported(&format!("[a]\n{options}")).expect(options)
}

/// The lines of the recipe from its first group or actor on.
fn groups(imported: &ImportedJobs) -> Vec<&str> {
    let lines = imported.text.lines().skip_while(|line| !line.starts_with("columns"));
    lines.skip(1).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn options_become_axes() {
    let direct = "rw=randread\ndirect=1\nsize=1g\nrandrepeat=0\n";
    let buffered = "size=1g\nbs=64k\n";
    let write = "rw=write\nsize=64m\n";
    let with = |job: &str, more: &str| format!("{job}{more}");
    for (options, expected) in [
        // Sequential psync is fio's default, and evicts the file before.
        (buffered.to_string(), "pread cold sequential 64KiB touch=none advice=sequential 10s"),
        (with(buffered, "invalidate=0"), "pread as-is advice=sequential ops=all"),
        (with(buffered, "pre_read=1"), "pread warm advice=sequential ops=all"),
        (with(buffered, "fadvise_hint=0\nrw=randread"), "pread cold random !advice"),
        (with(buffered, "rw=read:192k"), "strided stride=4 ops=lane"),
        (with(buffered, "ioengine=mmap"), "mmap cold touch=sum"),
        (with(buffered, "ioengine=sync"), "engine=read cold"),
        (with(buffered, "runtime=1m"), "time=6s"),
        (direct.to_string(), "pread direct random 4KiB 1GiB ops=all !advice !depth"),
        (with(direct, "ioengine=libaio\niodepth=8"), "uring depth=8 submission=plain"),
        (with(direct, "ioengine=io_uring\nfixedbufs"), "uring submission=fixed"),
        (with(direct, "ioengine=io_uring\nhipri"), "uring submission=iopoll"),
        (with(direct, "ioengine=libaio\ndirect=0\niodepth=8"), "pread cold !depth !submission"),
        (with(direct, "numjobs=4"), "threads=4 size=4GiB"),
        (with(direct, "numjobs=4\nfilename=x"), "threads=4 size=1GiB"),
        (with(direct, "numjobs=4\nfilename=x\noffset_increment=1g"), "threads=4 size=4GiB"),
        (with(direct, "bsrange=8k-8k"), "8KiB"),
        (with(direct, "bssplit=4k/50:8k/50:64k/0"), "block=4KiB/50:8KiB/50"),
        (with(direct, "bssplit=16k:4k/30"), "block=4KiB/30:16KiB/70"),
        (with(direct, "bssplit=4k/50:6k/50"), "block=[4KiB,6KiB]"),
        (with(direct, "bsrange=4k-12k"), "block=[4KiB,8KiB,12KiB]"),
        (with(direct, "bs=4k,8k"), "4KiB"),
        (with(direct, "bs=4k,8k\nrw=randwrite"), "8KiB"),
        (with(direct, "rate_iops=100\nnumjobs=2"), "rate=200 arrival=even !ops"),
        (with(direct, "rate=400k,1k\nrate_process=poisson"), "rate=100 arrival=poisson"),
        (with(direct, "random_distribution=zipf:1.2"), "zipf theta=1.2"),
        (with(direct, "number_ios=50\nnumjobs=2"), "ops=100"),
        (with(direct, "io_size=40k"), "ops=10"),
        (with(direct, "time_based\nruntime=20"), "time=2s !ops"),
        (with(direct, "mem=mmaphuge"), "pages=huge"),
        (with(direct, "uncached=1\ndirect=0"), "dontcache"),
        (with(direct, "filesize=1m\nsize=8g\nnrfiles=2"), "2MiB"),
        (write.to_string(), "write pwrite as-is sync=none allocation=fallocate"),
        (with(write, "end_fsync=1"), "sync=fsync !every"),
        (with(write, "fdatasync=1"), "sync=fdatasync every=1"),
        (with(write, "fsync=32\noverwrite=1"), "sync=fsync every=32 overwrite ops=all"),
        (with(write, "sync=dsync\nfallocate=none"), "sync=dsync allocation=none"),
        (with(write, "sync=1"), "sync=dsync"),
        (with(write, "sync_file_range=write:8"), "sync=sync-file-range every=8"),
        (with(write, "ioengine=mmap\nend_fsync=1"), "mmap sync=msync"),
        (with(write, "file_append=1\nfdatasync=1"), "engine=write allocation=append"),
        (with(write, "zero_buffers"), "fill=zero"),
        (with(write, "buffer_pattern=0xab"), "fill=constant"),
        (with(write, "time_based\nruntime=10"), "allocation=overwrite time=1s"),
        (with(write, "direct=1\natomic=1"), "atomic=yes"),
        (with(direct, "rw=randrw\nrwmixread=70"), "op=write pwrite read_share=70 overwrite"),
        (with(direct, "rw=randrw\nrwmixwrite=30\nfsync=1"), "read_share=70 sync=dsync"),
        (
            "ioengine=filecreate\nnrfiles=5\nnumjobs=2".to_string(),
            "call=create entries=5 threads=2",
        ),
        ("ioengine=null\nsize=1g".to_string(), "engine=null as-is"),
    ] {
        let imported = job(&options);
        let axes: Vec<String> =
            groups(&imported).iter().map(|line| line.replace(['"', ' '], "")).collect();
        for word in expected.split(' ') {
            let is_there = match word.strip_prefix('!') {
                Some(axis) => !axes.iter().any(|line| line.starts_with(&format!("{axis}="))),
                None => axes.iter().any(|line| line == word || line.ends_with(&format!("={word}"))),
            };
            assert!(is_there, "{word} of\n{options}\nin {axes:#?}");
        }
    }
}

/// A job that fools its author, one that does not, and what the first is told.
const TRAPS: &[(&str, &str, &str)] = &[
    (
        "ioengine=psync\niodepth=32\nsize=1g\ndirect=1",
        "ioengine=io_uring\niodepth=32\nsize=1g\ndirect=1",
        "psync waits for each operation, so one is in flight, not 32",
    ),
    (
        "ioengine=libaio\niodepth=32\nsize=1g",
        "ioengine=libaio\niodepth=32\nsize=1g\ndirect=1",
        "libaio waits for each operation unless direct=1",
    ),
    (
        "ioengine=posixaio\niodepth=32\nsize=1g",
        "ioengine=posixaio\niodepth=1\nsize=1g",
        "glibc does the operations of a file one after another",
    ),
    ("size=1g", "size=1g\ndirect=1", "without direct=1, reads go through the page cache"),
    (
        "size=1g\ntime_based\nruntime=60",
        "size=32g\ntime_based\nruntime=60",
        "the file of 1GiB fits into the 16.0 GiB of memory",
    ),
    (
        "size=1g\ninvalidate=0",
        "size=1g\ninvalidate=0\ndirect=1",
        "the page cache serves the reads that it can",
    ),
    ("rw=write\nsize=1g", "rw=write\nsize=1g\nend_fsync=1", "a write is done once it is in memory"),
    (
        "rw=write\nsize=1g\ndirect=1",
        "rw=write\nsize=1g\ndirect=1\nsync=dsync",
        "nothing makes the writes durable",
    ),
    (
        "ioengine=mmap\nsize=1g\ndirect=1",
        "ioengine=mmap\nsize=1g",
        "direct=1 has no effect on mmap",
    ),
    (
        "size=1g\ntime_based\nruntime=60",
        "size=1g\ntime_based\nruntime=60\nramp_time=5",
        "without ramp_time",
    ),
    ("size=1g\nruntime=60", "size=1g\nruntime=60\ntime_based", "without time_based, fio ends"),
    (
        "rw=randread\nsize=1g\nnorandommap",
        "rw=read\nsize=1g\nnorandommap",
        "some blocks several times and others never",
    ),
    (
        "rw=randread\nsize=1g",
        "rw=randread\nsize=1g\nrandrepeat=0",
        "the same blocks in the same order",
    ),
    (
        "rw=write\nsize=1g\nzero_buffers",
        "rw=read\nsize=1g\nzero_buffers",
        "zeros compress to nothing",
    ),
    (
        "rw=write\nsize=1g\nscramble_buffers=0",
        "rw=write\nsize=1g\nscramble_buffers=0\nrefill_buffers",
        "all blocks then have the same content",
    ),
    (
        "size=1g\nnumjobs=4\nfilename=x",
        "size=1g\nnumjobs=4",
        "all 4 jobs go through the same blocks of one file",
    ),
    (
        "rw=write\nsize=1g\nfdatasync=1",
        "rw=write\nsize=1g\nend_fsync=1",
        "clat percentiles are those of the writes alone",
    ),
    (
        "rw=write\nsize=1g",
        "rw=write\nsize=1g\noverwrite=1",
        "its first run writes a new file and each later one",
    ),
    (
        "size=1g\nrate_iops=100",
        "size=1g\nrate_iops=100\nrate_process=poisson",
        "a late operation of fio delays the next ones",
    ),
    (
        "rw=write\nfilename=/dev/sdx",
        "rw=read\nfilename=/dev/sdx",
        "fio overwrites what is on this device",
    ),
    ("bs=4KiB\nsize=1g", "bs=4k\nsize=1g", "KiB and MiB are powers of 1000"),
    ("bs=4KiB\nsize=1g", "bs=4KiB\nsize=1g\nkb_base=1000", "KiB and MiB are powers of 1000"),
    (
        "bssplit=4k/50:8k/50\nsize=1g",
        "bssplit=4k/100:8k/0\nsize=1g",
        "figures are of all sizes together",
    ),
];

#[test]
fn what_fools_its_author_is_said_and_else_nothing() {
    let is_said = |options: &str, expected: &str| {
        let warnings = job(options).warnings;
        warnings.iter().any(|warning| warning.contains(expected))
    };
    for (fooled, silent, expected) in TRAPS {
        assert!(
            is_said(fooled, expected),
            "'{expected}' of\n{fooled}\n{:#?}",
            job(fooled).warnings
        );
        assert!(!is_said(silent, expected), "'{expected}' of\n{silent}");
    }
    let clean = job("rw=randread\ndirect=1\nsize=1g\nrandrepeat=0\nioengine=io_uring\niodepth=4");
    assert_eq!(clean.warnings, Vec::<String>::new());
}

#[test]
fn a_job_without_a_counterpart_is_refused_with_its_line() {
    for (options, expected) in [
        ("iodeth=4", "line 2 (iodeth=4): fio has no such option (did you mean 'iodepth'?)"),
        ("ioengine=rbd", "line 2 (ioengine=rbd): it reaches its storage past the OS's files"),
        ("ioengine=xyz", "ioassay does not know this engine"),
        ("ioengine=cpuio\ncpuload=5", "it uses processors and no storage"),
        ("thinktime=5", "line 2 (thinktime=5): ioassay does not pause"),
        ("zonemode=zbd", "knows no zones"),
        ("latency_target=5", "ioassay run load"),
        ("rw=trim", "discards no blocks"),
        ("rw=xyz", "fio has no such kind of operations"),
        ("rw=read:-8k", "goes through no file backwards"),
        ("rw=read:6k", "skips whole blocks"),
        ("rw=randread:8", "draws a new place for each block"),
        ("rw=randrw", "line 1 ([a]): ioassay mixes reads and writes only past the page cache"),
        ("rw=randrw\ndirect=1\nfsync=8", "line 4 (fsync=8): among reads"),
        ("rw=randrw\ndirect=1\nrate_iops=8", "reads among writes have no schedule"),
        ("rw=randrw\ndirect=1\nbs=4k,8k", "reads of 4KiB among writes of 8KiB"),
        ("rw=randrw\nioengine=mmap", "by pwrite and io_uring alone"),
        ("rw=write\nioengine=mmap\nsync=1", "O_SYNC has no effect on a mapping"),
        ("rw=randwrite\nfile_append=1", "appends in order"),
        ("rw=randwrite\nrandom_distribution=zipf:1.1", "only reads of ioassay follow Zipf's law"),
        ("rw=randread\nrandom_distribution=pareto:0.2", "by no other"),
        ("rw=randread\nrandom_distribution=zipf:x", "the exponent is a number"),
        ("bs=1.5k", "line 2 (bs=1.5k): fio reads only the digits before the point"),
        ("bs=0", "none of them 0"),
        ("bsrange=4k", "it is not a range"),
        ("bsrange=8k-4k", "it ends before it begins"),
        ("size=1k", "it is less than a block"),
        ("rate=1250", "less than one block a second"),
        ("numjobs=0", "a job has 1 to 4096 copies"),
        ("direct=yes", "it is on (1) or off (0)"),
        ("kb_base=7", "it is 1000 or 1024"),
        ("size=${NO_SUCH}", "the variable NO_SUCH of the environment is not set"),
        ("filename=/dev/null", "it stores nothing"),
        ("mem=cudamalloc", "graphics processor"),
    ] {
        let error = imported(&format!("[a]\n{options}")).expect_err(options);
        assert!(format!("{error:#}").contains(expected), "{options}: {error:#}");
    }
}

#[test]
fn what_is_left_out_is_said_and_what_changes_nothing_is_named() {
    let imported = job("size=1g\ndirect=1\noffset=1g\nthinktime=0\nverify=crc32c\ngroup_reporting");
    let text = &imported.text;
    assert!(text.contains("# - line 4 (offset=1g): the test file is ioassay's own"), "{text}");
    assert!(text.contains("# - line 6 (verify=crc32c): ioassay checks what"), "{text}");
    assert!(text.contains("changes nothing that is measured:\n# - group_reporting"), "{text}");
    assert!(!text.contains("thinktime") && imported.warnings.len() == 2, "{imported:#?}");
}

#[test]
fn a_directory_is_that_of_the_jobs() {
    let place = |options: &str| job(&format!("size=1g\n{options}")).place;
    let directory = |path: &str| JobPlace::Directory(path.into());
    assert_eq!(place(""), JobPlace::Anywhere);
    assert_eq!(place("filename=x"), JobPlace::Anywhere);
    assert_eq!(place("directory=/data"), directory("/data"));
    assert_eq!(place("directory=/data\nfilename=a/x"), directory("/data/a"));
    assert_eq!(place("filename=/data/x:/data/y"), directory("/data"));
    assert_eq!(place("filename=/dev/sdx"), JobPlace::Unclear("the device /dev/sdx".to_string()));
    let two = imported("[a]\nsize=1g\ndirectory=/a\n[b]\nstonewall\nsize=1g\ndirectory=/b");
    assert_eq!(two.expect("both are").place, JobPlace::Unclear("several places".to_string()));
}

#[test]
fn equal_jobs_at_once_are_threads_and_others_are_actors() {
    let check = |text: &str, expected: &[&str], apart: &str| {
        let imported = imported(text).expect(text);
        let lines = groups(&imported);
        let found: Vec<&str> = lines
            .into_iter()
            .filter(|line| {
                ["[[cases", "[actors", "threads", "beside", "file ="]
                    .iter()
                    .any(|start| line.starts_with(start))
            })
            .collect();
        assert_eq!(found, expected, "{}", imported.text);
        let is_apart = imported.warnings.iter().any(|it| it.starts_with("not at the same time"));
        assert_eq!(is_apart, !apart.is_empty(), "{:#?}", imported.warnings);
        assert!(imported.warnings.iter().any(|it| it.contains(apart)) || apart.is_empty());
    };
    let global = "[global]\ndirect=1\nsize=64m\n";
    let with = |text: &str| format!("{global}{text}");
    check(&with("[a]\n[b]\nnumjobs=2\n"), &["[[cases]]", "threads = 3"], "");
    check(&with("[a]\n[b]\nstonewall\n"), &["[[cases]]", "[[cases]]"], "");
    check(&with("[a]\n[b]\nwait_for=a\nbs=8k"), &["[[cases]]", "[[cases]]"], "");
    check(
        &with("[a]\n[b]\nbs=8k\n"),
        &[
            "[actors.a-1]",
            "[actors.b-2]",
            "[[cases]]",
            "beside = \"b-2\"",
            "[[cases]]",
            "beside = \"a-1\"",
        ],
        "",
    );
    let shared = with("filename=x\n[r]\n[w]\nrw=write\n");
    let own = ["[actors.r-1]", "file = \"case\"", "[actors.w-2]", "file = \"case\""];
    let cases = ["[[cases]]", "beside = \"w-2\"", "[[cases]]", "beside = \"r-1\""];
    check(&shared, &[&own[..], &cases].concat(), "");
    let alone = ["[[cases]]", "[[cases]]"];
    let end = with("[a]\n[w]\nrw=write\nend_fsync=1");
    check(&end, &alone, "would end with its sync");
    check(&with("filename=x\n[a]\nrw=write\n[b]\nrw=randwrite"), &alone, "several of them write");
    check(&with("[a]\n[b]\nrw=randrw"), &alone, "mixes reads and writes");
    let many: String = (1..=5).map(|number| format!("[j{number}]\nbs={number}k\n")).collect();
    check(&with(&many), &["[[cases]]"; 5], "up to 3 jobs beside one");
    check(&with("[a]\n[b]\nrw=trim"), &["[[cases]]"], "[b] would run beside, and is not taken");
}

/// What people read, of jobs that tell something.
#[test]
fn telling_jobs() {
    for (name, text) in [
        (
            "randread",
            "[global]\nioengine=libaio\ndirect=1\niodepth=32\n[randread]\nrw=randread\n\
            bs=4k\nsize=1g\ndirectory=/data\nruntime=60\ntime_based\ngroup_reporting\n",
        ),
        (
            "buffered",
            "[page-cache]\nrw=randread\nbs=4k\nsize=512m\nioengine=libaio\niodepth=64\n\
            time_based\nruntime=30\n",
        ),
        (
            "etcd",
            "; how etcd's disk is often measured\n[etcd]\nrw=write\nioengine=sync\n\
            fdatasync=1\ndirectory=test-data\nsize=22m\nbs=2300\n",
        ),
        (
            "mixed",
            "[oltp]\nrw=randrw\nrwmixread=70\nbs=8k\ndirect=1\nioengine=io_uring\n\
            iodepth=16\nfilename=/dev/nvme0n1\nsize=10%\nnorandommap\n",
        ),
        (
            "at-once",
            "[global]\ndirect=1\nioengine=io_uring\nsize=256m\nruntime=60\ntime_based\n\
            [log]\nrw=write\nbs=4k\nfdatasync=1\n[scan]\nrw=read\nbs=1m\niodepth=4\n\
            startdelay=5\n",
        ),
        (
            "partly",
            "[a]\nrw=read\nsize=1g\nthinktime=5ms\n[b]\nstonewall\nrw=write\nbs=4KiB\n\
            size=1g\nbuffer_compress_percentage=50\n",
        ),
    ] {
        let imported = import(
            text,
            &format!("{name}.fio"),
            &Here { memory: Some(16 << 30), ..Here::nowhere() },
        );
        insta::assert_snapshot!(name, imported.expect(name).text);
    }
}
