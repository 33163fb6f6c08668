//! The table of faults.

use super::fault::{Before, Content, Fault, Meanwhile, PAST_CACHE, PLAIN, Place};
use super::limit::Limit;
use super::said::Sign::{Code, Failure, Served};

const MIB: u64 = 1 << 20;

/// The defaults of most faults: a file of 64 MiB on its own loop device, not in the page cache, and
/// read sequentially with O_DIRECT.
const DIRECT: Fault = Fault {
    name: "",
    planted: "",
    truth: "",
    aside: "",
    avoided: &[],
    place: PLAIN,
    content: Content::Random,
    size: 64 * MIB,
    before: Before::Evict,
    limit: None,
    meanwhile: Meanwhile::Nothing,
    inject: None,
    ioassay: "ioassay run read-methods --file FILE --engine pread --cache direct --block 1MiB \
              --threads 1 --rounds 7 --time 300ms --json",
    fio: "fio --name=read --filename=FILE --rw=read --bs=1M --direct=1",
    dd: "dd if=FILE of=/dev/null bs=1M iflag=direct",
    signs: &[],
};

/// A file read through the page cache, sequentially and in its current state.
const AS_IS: Fault = Fault {
    ioassay: "ioassay run read-methods --file FILE --engine pread --cache as-is --block 1MiB \
              --threads 1 --rounds 7 --time 300ms --json",
    fio: "fio --name=read --filename=FILE --rw=read --bs=1M",
    dd: "dd if=FILE of=/dev/null bs=1M",
    ..DIRECT
};

/// A cached file, read in small random blocks.
const WARM: Fault = Fault {
    before: Before::Warm,
    ioassay: "ioassay run read-methods --file FILE --engine pread --cache warm --pattern random \
              --block 4KiB --threads 1 --rounds 7 --time 300ms --json",
    fio: "fio --name=read --filename=FILE --rw=randread --bs=4k --invalidate=0 --time_based \
          --runtime=2",
    dd: "dd if=FILE of=/dev/null bs=4k",
    ..DIRECT
};

/// A new file that is written and made durable.
const WRITE: Fault = Fault {
    content: Content::Absent,
    before: Before::Remove,
    ioassay: "ioassay run WRITE DIR --json",
    fio: "fio --name=write --filename=FILE --rw=write --bs=1M --size=64M --end_fsync=1",
    dd: "dd if=/dev/zero of=FILE bs=1M count=64 conv=fdatasync",
    ..DIRECT
};

/// All faults, in the order of the document.
pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "A limit of bytes",
        planted: "A control group may read 20 MiB a second from the device.",
        truth: "20.97 MB/s (20 MiB/s): the group's limit, not a property of the device.",
        limit: Some(Limit::ReadBytes(20 * MIB)),
        ioassay: "ioassay run read-methods --file FILE --engine pread --cache direct --block 1MiB \
                  --threads 1 --rounds 7 --time 1s --json",
        signs: &[Code("Throttled")],
        ..DIRECT
    },
    Fault {
        name: "A limit of operations",
        planted: "A control group may read 200 times a second from the device.",
        truth: "200 IOPS: the group's limit, not a property of the device.",
        limit: Some(Limit::ReadOps(200)),
        size: 4 * MIB,
        ioassay: "ioassay run read-methods --file FILE --engine pread --cache direct --pattern \
                  random --block 4KiB --threads 1 --rounds 7 --time 1s --json",
        fio: "fio --name=read --filename=FILE --rw=randread --bs=4k --direct=1 --time_based \
              --runtime=3",
        dd: "dd if=FILE of=/dev/null bs=4k iflag=direct count=600",
        signs: &[Code("Throttled")],
        ..DIRECT
    },
    Fault {
        name: "A limit that changes",
        planted: "A control group may read 40 MiB a second, and only 10 MiB a second from the \
                  middle of each run.",
        truth: "41.9 MB/s, then 10.5 MB/s. The mean of both is the rate of neither.",
        aside: "fio writes its rate over time to a file with `--write_bw_log`, or prints it with \
                `--status-interval`; dd prints it with `status=progress`. Both leave the judgment \
                to you.",
        limit: Some(Limit::ReadBytes(40 * MIB)),
        meanwhile: Meanwhile::Change {
            bytes: [270 * MIB, 32 * MIB, 32 * MIB],
            limit: Limit::ReadBytes(10 * MIB),
        },
        ioassay: "ioassay run read-methods --file FILE --engine pread --cache direct --block 1MiB \
                  --threads 1 --rounds 12 --time 600ms --json",
        signs: &[Code("StepChange"), Code("Drifting"), Code("Throttled")],
        ..DIRECT
    },
    Fault {
        name: "Direct reads of tmpfs",
        planted: "The file is on tmpfs and is read with O_DIRECT, which tmpfs accepts.",
        truth: "Memory served all bytes.",
        place: Place::Memory,
        before: Before::Warm,
        signs: &[Code("Ram"), Served("ram")],
        ..DIRECT
    },
    Fault {
        name: "Direct reads that are buffered",
        planted: "ext4 is mounted with data=journal, which accepts O_DIRECT and ignores it. The \
                  file is in the page cache.",
        truth: "The page cache served the bytes, though O_DIRECT was requested and granted.",
        aside: "fio empties the page cache of the file first, by default (`--invalidate=1`): it \
                then reads from the device, through the page cache.",
        avoided: &["fio"],
        place: Place::Loop {
            kind: "ext4",
            mount: "rw,noinit_itable,data=journal",
            below: PAST_CACHE,
        },
        before: Before::Warm,
        signs: &[Code("DirectIgnored"), Served("page-cache")],
        ..DIRECT
    },
    Fault {
        name: "A sparse file",
        planted: "The file has a size and no blocks.",
        truth: "Nothing was read: the file system made zeros.",
        aside: "With `--size` and no file, fio would have written one.",
        content: Content::Sparse,
        signs: &[Code("NoIo"), Served("no-io")],
        ..DIRECT
    },
    Fault {
        name: "A file that was allocated and never written",
        planted: "fallocate allocated the file's blocks; nothing was written to them.",
        truth: "Nothing was read: the file system made zeros.",
        aside: "With `--size` and no file, fio would have written one.",
        content: Content::Allocated,
        signs: &[Code("NoIo"), Served("no-io")],
        ..DIRECT
    },
    Fault {
        name: "Zeros that are compressed",
        planted: "btrfs is mounted with compress=zstd; zeros are written and made durable.",
        truth: "The device wrote a small part of the bytes.",
        aside: "fio writes random data by default; here it writes zeros, the usual input of dd.",
        place: Place::Loop { kind: "btrfs", mount: "rw,compress=zstd", below: PAST_CACHE },
        ioassay: "ioassay run WRITE DIR --fill zero --json",
        fio: "fio --name=write --filename=FILE --rw=write --bs=1M --size=64M --end_fsync=1 \
              --zero_buffers",
        signs: &[Code("Compressed")],
        ..WRITE
    },
    Fault {
        name: "Compressed zeros that are read",
        planted: "btrfs is mounted with compress=zstd; the file is zeros and not in the page \
                  cache.",
        truth: "The device read a small part of the bytes; the rest is the speed of decompression.",
        place: Place::Loop { kind: "btrfs", mount: "rw,compress=zstd", below: PAST_CACHE },
        content: Content::Zeros,
        ioassay: "ioassay run read-methods --file FILE --engine pread --cache cold --block 1MiB \
                  --threads 1 --rounds 7 --time 300ms --json",
        signs: &[Code("Compressed"), Code("NoIo"), Code("CacheLeak")],
        ..AS_IS
    },
    Fault {
        name: "A warm file on overlayfs",
        planted: "The whole file is in the page cache, but it is on overlayfs, where cachestat \
                  says that nothing is cached.",
        truth: "The page cache served all bytes.",
        aside: "fio empties the page cache of the file first, by default (`--invalidate=1`).",
        avoided: &["fio"],
        place: Place::Overlay,
        before: Before::Warm,
        signs: &[Served("page-cache")],
        ..AS_IS
    },
    Fault {
        name: "A file system of another process",
        planted: "bindfs shows a directory of a disk through FUSE; the file below is in the page \
                  cache.",
        truth: "The page cache below serves the bytes, which this machine's counters cannot see.",
        place: Place::Fuse,
        before: Before::Warm,
        signs: &[Code("Unverified"), Served("unverified")],
        ..DIRECT
    },
    Fault {
        name: "A loop device that reads through the page cache",
        planted: "The loop device's image is read without direct I/O.",
        truth: "The loop device served the bytes, many of them from the page cache outside.",
        place: Place::Loop { kind: "ext4", mount: "rw,noinit_itable", below: "--direct-io=off" },
        signs: &[Code("LoopCached")],
        ..DIRECT
    },
    Fault {
        name: "Too little memory to stay warm",
        planted: "A control group has 96 MiB of memory, page cache included; the file has 256 MiB \
                  and is to be read from the page cache.",
        truth: "At most a third of the file can be in the page cache.",
        size: 256 * MIB,
        limit: Some(Limit::Memory(96 * MIB)),
        before: Before::Evict,
        ioassay: "ioassay run read-methods --file FILE --engine pread --cache warm --block 1MiB \
                  --threads 1 --rounds 7 --time 300ms --json",
        fio: "fio --name=read --filename=FILE --rw=read --bs=1M --pre_read=1",
        signs: &[Code("NotWarm"), Code("PartlyCached"), Failure],
        ..AS_IS
    },
    Fault {
        name: "A file that is half warm",
        planted: "The first half of the file is in the page cache.",
        truth: "Half of the bytes came from the page cache, half from the device. The mean is the \
                rate of neither.",
        aside: "fio empties the page cache of the file first, by default (`--invalidate=1`), so \
                its figure is the device's.",
        avoided: &["fio"],
        before: Before::HalfWarm,
        ioassay: "ioassay run read-methods --file FILE --engine pread --cache as-is --block 1MiB \
                  --threads 1 --rounds 1 --ops all --time 10s --json",
        signs: &[Code("PartlyCached"), Served("mixed")],
        ..AS_IS
    },
    Fault {
        name: "A file that readahead warmed",
        planted: "Half of the file was read before, with a readahead of 8 MiB.",
        truth: "More than half of the file was in the page cache: all that readahead fetched.",
        aside: "fio empties the page cache of the file first, by default (`--invalidate=1`).",
        avoided: &["fio"],
        size: 16 * MIB,
        before: Before::ReadAhead,
        ioassay: "ioassay run read-methods --file FILE --engine pread --cache as-is --block 1MiB \
                  --threads 1 --rounds 1 --ops all --time 10s --json",
        signs: &[Served("page-cache"), Served("mixed"), Code("PartlyCached")],
        ..AS_IS
    },
    Fault {
        name: "A quota of CPU time",
        planted: "A control group has a fifth of one CPU.",
        truth: "The tool could not run for four fifths of the time.",
        limit: Some(Limit::Cpu(20)),
        signs: &[Code("Throttled")],
        ..WARM
    },
    Fault {
        name: "Busy neighbors",
        planted: "Twice as many threads as CPUs keep all of them busy.",
        truth: "The tool waited for a CPU most of the time.",
        aside: "fio prints context switches (`ctx`) and shares of user and system time, which let \
                you guess it.",
        meanwhile: Meanwhile::Busy,
        signs: &[Code("Contended")],
        ..WARM
    },
    Fault {
        name: "Another process on the device",
        planted: "Two threads of another process read another file of the same device.",
        truth: "The tool got a part of the device's throughput.",
        aside: "fio's disk statistics also count other processes' reads.",
        meanwhile: Meanwhile::Readers,
        signs: &[Code("Foreign")],
        ..DIRECT
    },
    Fault {
        name: "Reads that fail",
        planted: "strace makes some reads of the file fail with EIO.",
        truth: "There is no figure: the file could not be read.",
        inject: Some("error=EIO:when=20+7"),
        signs: &[Failure],
        ..DIRECT
    },
    Fault {
        name: "Reads that come short",
        planted: "strace makes some reads of the file return 512 bytes, but reads none.",
        truth: "There is no figure: data is missing.",
        aside: "ioassay knows the content of its own files, so it made one here.",
        inject: Some("retval=512:when=20+7"),
        ioassay: "ioassay run read-methods DIR --size 64MiB --engine pread --cache direct --block \
                  1MiB --threads 1 --rounds 7 --time 300ms --json",
        signs: &[Failure, Code("DigestMismatch")],
        ..DIRECT
    },
    Fault {
        name: "Writing without a sync",
        planted: "A new file is written through the page cache, and nothing makes it durable.",
        truth: "The page cache took the bytes: the rate is that of memory, not of a disk.",
        aside: "`conv=fdatasync` of dd and `--end_fsync=1` of fio include the sync.",
        ioassay: "ioassay run WRITE DIR --sync none --json",
        fio: "fio --name=write --filename=FILE --rw=write --bs=1M --size=64M",
        dd: "dd if=/dev/zero of=FILE bs=1M count=64",
        signs: &[Code("AcknowledgedOnly")],
        ..WRITE
    },
    Fault {
        name: "A sync that is swallowed",
        planted: "ext4 is mounted with nobarrier: a sync writes but does not flush the device's \
                  cache.",
        truth: "Nothing is durable: a power cut may lose data that a sync confirmed.",
        place: Place::Loop { kind: "ext4", mount: "rw,noinit_itable,nobarrier", below: PAST_CACHE },
        signs: &[Code("NotDurable")],
        ..WRITE
    },
    Fault {
        name: "A disk in memory",
        planted: "The file is on zram, a block device that is compressed memory.",
        truth: "Memory served all bytes, though a device counted them.",
        place: Place::Zram,
        signs: &[Code("Ram"), Served("ram")],
        ..DIRECT
    },
];
