//! Findings: what can be wrong with a figure.

use model::named;
use schemars::JsonSchema;
use serde::Serialize;

named! {
    /// The kinds of findings, each defined in docs/method.
    Code "finding" {
        /// Claimed cold, but the page cache served some of it.
        CacheLeak "CacheLeak",
        /// Claimed warm, but not all of it was in the page cache.
        NotWarm "NotWarm",
        /// Claimed direct, but it went through the page cache.
        DirectIgnored "DirectIgnored",
        /// Claimed to leave nothing in the page cache, but pages stayed.
        CacheKept "CacheKept",
        /// Claimed direct, and it was; but another program uses the file through the page cache.
        FileInUse "FileInUse",
        /// The page cache served a part and a device the rest: the figure describes neither.
        PartlyCached "PartlyCached",
        /// No probe can see how much of the file is cached.
        CacheUnseen "CacheUnseen",
        /// Devices read more than the figure counts.
        OverRead "OverRead",
        /// Holes or unwritten extents: no device read them.
        NoIo "NoIo",
        /// A device was read where it may have stored nothing.
        MaybeUnmapped "MaybeUnmapped",
        /// The file system keeps its files in memory.
        Ram "Ram",
        /// This machine cannot see what is below: FUSE, a network.
        Unverified "Unverified",
        /// A counter does not count, or does not show enough.
        CountersUnseen "CountersUnseen",
        /// A loop device that uses the page cache took part.
        LoopCached "LoopCached",
        /// The bytes read, or read back, are not those written.
        DigestMismatch "DigestMismatch",
        /// The peer reports no digest: its bytes were not checked.
        BytesUnchecked "BytesUnchecked",
        /// A read beside writes of the same file returned parts of several writes.
        TornPages "TornPages",
        /// Reads beside writes of the same file met nothing that changed.
        OverlapUnseen "OverlapUnseen",
        /// Claimed durable, but the devices did not flush: a power cut may lose it.
        NotDurable "NotDurable",
        /// Nothing made the data durable: the figure is how fast writes were acknowledged.
        AcknowledgedOnly "AcknowledgedOnly",
        /// Durable or direct writes look as if they had stopped in a cache below the OS.
        HostCache "HostCache",
        /// Dirty data was left when a trial began.
        DirtyStart "DirtyStart",
        /// The devices wrote fewer bytes than became durable.
        Compressed "Compressed",
        /// The file system is nearly full.
        NearlyFull "NearlyFull",
        /// Each write changes metadata too.
        Allocating "Allocating",
        /// Without a journal, ext4 does not use inodes again soon after they were freed.
        InodesHeld "InodesHeld",
        /// The OS held the writer back until the device caught up.
        ThrottledWriteback "ThrottledWriteback",
        /// Memory was not in the requested pages.
        PageSize "PageSize",
        /// The OS reports no cache size: arrays may have been in a cache.
        CacheSizeUnknown "CacheSizeUnknown",
        /// The figure is above the measured bound that applies to it.
        AboveCeiling "AboveCeiling",
        /// The figure is above what the links to the device carry.
        FasterThanLink "FasterThanLink",
        /// The tool's own overhead is a large part of the figure.
        OverheadBound "OverheadBound",
        /// ioassay's own delay is a large part of the response times of an open loop.
        GeneratorBehind "GeneratorBehind",
        /// Operations were due that had not begun when the time was up.
        LoadNotHeld "LoadNotHeld",
        /// CPUs that slept make a rate look slower than a higher one.
        DeepIdle "DeepIdle",
        /// The devices had far fewer operations at once than the case asks for.
        DepthNotReached "DepthNotReached",
        /// The CPU, not the storage, limits the figure.
        CpuBound "CpuBound",
        /// A control group's limit sets the figure.
        Throttled "Throttled",
        /// Other processes ran on the threads' processors.
        Contended "Contended",
        /// The machine swapped.
        Swapped "Swapped",
        /// Noisy neighbors used the device.
        Foreign "Foreign",
        /// Other hosts of the run used the device.
        SharedDevice "SharedDevice",
        /// The hypervisor took CPU time away.
        Steal "Steal",
        /// Disturbed rounds were excluded.
        Excluded "Excluded",
        /// Too few rounds for an interval.
        TooFew "TooFew",
        /// The interval is too wide to say what the figure is.
        WideInterval "WideInterval",
        /// Trials failed: the figure comes from the others.
        FailedTrials "FailedTrials",
        /// Trials too short to trust.
        TooShort "TooShort",
        /// Some threads were idle while others worked.
        Imbalanced "Imbalanced",
        /// A few operations took much of the time.
        Stalled "Stalled",
        /// The rate drifts, or swings: a longer trial has another figure.
        Transient "Transient",
        /// The rate changes once, within trials or from round to round: the figure mixes two.
        StepChange "StepChange",
        /// Rounds depend on each other: their interval is too narrow.
        Drifting "Drifting",
        /// Rounds fall into two levels, by their CPUs or nodes.
        CpuLevels "CpuLevels",
        /// Arrays were on another NUMA node than the thread that used them.
        RemotePages "RemotePages",
        /// Starting the process may be a large part of a command's time.
        StartupBound "StartupBound",
        /// The first run of a command took longer than each other.
        FirstRun "FirstRun",
        /// A command asked for more bytes than its files have.
        ReadAgain "ReadAgain",
        /// A command's calls are so small that the call is what is measured.
        SmallCalls "SmallCalls",
        /// The number that a command prints is not that of its whole run.
        FigureDiffers "FigureDiffers",
        /// A command reads from the device that it writes to.
        SameDevice "SameDevice",
        /// What a command writes grows with each run.
        OutputGrows "OutputGrows",
        /// A command left processes running.
        LeftRunning "LeftRunning",
        /// A command ended otherwise in its rehearsal.
        RehearsalDiffers "RehearsalDiffers",
        /// A command was not traced: some of its files may be unknown.
        FilesSampled "FilesSampled",
        /// A cache state that could not be seen before the runs was not proved by them.
        StateUnproved "StateUnproved",
        /// Both ends of a link can do more than it does.
        LinkDowngraded "LinkDowngraded",
        /// A device can do more than the port that it is plugged into, or than its driver.
        SlowPort "SlowPort",
        /// An array lacks a disk.
        Degraded "Degraded",
        /// An array rebuilds or checks itself.
        Rebuilding "Rebuilding",
        /// A partition begins in the middle of a block of its disk.
        Misaligned "Misaligned",
        /// What is overwritten is copied first, for a snapshot.
        CopyOnWrite "CopyOnWrite",
        /// A drive, or a CPU, slowed down because of heat, or is so hot that it may.
        Hot "Hot",
        /// Two storages of the run have a disk or a link in common.
        SharedPath "SharedPath",
        /// A limit of the cloud held a volume back.
        Capped "Capped",
        /// Memory or a drive had errors while the run went on.
        HardwareErrors "HardwareErrors",
        /// A rotating drive has a write cache that is switched off.
        WriteCacheOff "WriteCacheOff",
        /// A memory controller has modules in fewer channels than another.
        ChannelsEmpty "ChannelsEmpty",
        /// Memory had errors, corrected or not.
        MemoryErrors "MemoryErrors",
        /// A disk is encrypted with AES, and no instructions compute it.
        SoftwareAes "SoftwareAes",
        /// Threads ran on another NUMA node than that of the disk.
        CrossNode "CrossNode",
        /// A hypervisor presents the device: what is below is unknown.
        VirtualDevice "VirtualDevice",
        /// The case differs from itself, measured a second time.
        ControlDiffers "ControlDiffers",
    }
}

named! {
    /// How severe a finding is.
    Severity "severity" {
        /// Worth knowing; the figure is valid.
        Note "note",
        /// The figure may not mean what it says.
        Doubt "doubt",
        /// The figure does not mean what it says.
        Void "void",
    }
}

named! {
    /// How far to trust a figure.
    Verdict "verdict" {
        /// No finding is against it.
        Sound "sound",
        /// It may not mean what it says.
        Doubtful "doubtful",
        /// It does not mean what it says.
        Void "void",
        /// There is none: its trials failed.
        Failed "failed",
        /// There is none: this machine can't run the case.
        Unavailable "unavailable",
        /// There is none: the run ended before.
        NotRun "not run",
    }
}

impl Verdict {
    /// Whether there is a figure that is not void, with or without doubt.
    pub fn stands(self) -> bool {
        matches!(self, Verdict::Sound | Verdict::Doubtful)
    }
}

/// Something wrong with a figure, or worth knowing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The kind; docs/method defines each.
    pub code: Code,
    /// How severe it is.
    pub severity: Severity,
    /// The figure that the message states, as a number that grows with the fault: the share that
    /// is missing, not the one that is there. Of rows with the same finding, the largest is the
    /// worst. `None` if the message has no figure that orders rows.
    #[serde(skip)]
    pub size: Option<f64>,
    /// The observation, with numbers, and the likely cause.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    /// A note, which has no figure.
    pub(crate) fn note(code: Code, message: String, remedy: &str) -> Finding {
        Finding { code, severity: Severity::Note, size: None, message, remedy: remedy.to_string() }
    }
}
