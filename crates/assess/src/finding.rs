//! What can be wrong with a figure.

use model::named;

named! {
    /// What was found. Each is defined in METHODOLOGY.md.
    Code "finding" {
        /// Claimed cold, but the page cache served some of it.
        CacheLeak "CacheLeak",
        /// Claimed warm, but not all of it was in the page cache.
        NotWarm "NotWarm",
        /// Claimed direct, but it went through the page cache.
        DirectIgnored "DirectIgnored",
        /// The page cache served a part, and a device the rest: the figure is neither's.
        PartlyCached "PartlyCached",
        /// No probe tells what of the file is cached.
        CacheUnseen "CacheUnseen",
        /// Devices read more than the figure counts.
        OverRead "OverRead",
        /// Holes or unwritten extents: nothing was read to serve them.
        NoIo "NoIo",
        /// The file system keeps its files in memory.
        Ram "Ram",
        /// What is below cannot be seen from here: FUSE, a network.
        Unverified "Unverified",
        /// A counter does not count, or not what would have to be known.
        CountersUnseen "CountersUnseen",
        /// A loop device took part that goes through the page cache itself.
        LoopCached "LoopCached",
        /// The bytes that were read, or read back, are not those that were written.
        DigestMismatch "DigestMismatch",
        /// The peer tells no digest: nobody checked which bytes it moved.
        BytesUnchecked "BytesUnchecked",
        /// Claimed durable, but the devices did not flush: a power cut may lose it.
        NotDurable "NotDurable",
        /// Nothing made it durable: the figure is how fast it was taken.
        AcceptedOnly "AcceptedOnly",
        /// Durable or direct writes look as if a cache below the OS had taken them.
        HostCache "HostCache",
        /// Data was still to be written when a trial began.
        DirtyStart "DirtyStart",
        /// The devices were given fewer bytes than were made durable.
        Compressed "Compressed",
        /// The file system is nearly full.
        NearlyFull "NearlyFull",
        /// Each write changes metadata too.
        Allocating "Allocating",
        /// The OS held the writer back until the device had caught up.
        ThrottledWriteback "ThrottledWriteback",
        /// Memory did not lie in the pages that were asked for.
        PageSize "PageSize",
        /// Nobody tells how large the caches are: arrays may have lain in one.
        CacheSizeUnknown "CacheSizeUnknown",
        /// The figure is above the measured bound that applies to it.
        AboveCeiling "AboveCeiling",
        /// The tool's own overhead is a large part of the figure.
        OverheadBound "OverheadBound",
        /// The CPU, not the storage, bounds the figure.
        CpuBound "CpuBound",
        /// A limit of a control group bounds the figure.
        Throttled "Throttled",
        /// Others ran on the processors that the threads wanted.
        Contended "Contended",
        /// The machine swapped.
        Swapped "Swapped",
        /// Others used the device at the same time.
        Foreign "Foreign",
        /// The hypervisor gave CPU time to others.
        Steal "Steal",
        /// Rounds that others disturbed were left out.
        Excluded "Excluded",
        /// Too few rounds for an interval.
        TooFew "TooFew",
        /// Trials failed: the figure is that of the others.
        FailedTrials "FailedTrials",
        /// Trials too short to trust.
        TooShort "TooShort",
        /// Some threads waited for others.
        Imbalanced "Imbalanced",
        /// A few operations took much of the time.
        Stalled "Stalled",
        /// The rate drifts, or swings: a longer trial has another figure.
        Transient "Transient",
        /// The rate has a step, within trials or from round to round: the figure mixes two.
        StepChange "StepChange",
        /// Rounds depend on each other: their interval is too narrow.
        Drifting "Drifting",
        /// Rounds fall into two levels, by the CPUs or the node that they ran on.
        CpuLevels "CpuLevels",
        /// Arrays lay on another NUMA node than the thread that used them.
        RemotePages "RemotePages",
        /// The device is presented by a hypervisor: what is below it is unknown.
        VirtualDevice "VirtualDevice",
        /// The case measured a second time was not the same.
        ControlDiffers "ControlDiffers",
    }
}

named! {
    /// How much a finding takes from a figure.
    Severity "severity" {
        /// Worth knowing; the figure stands.
        Note "note",
        /// The figure may not mean what it says.
        Doubt "doubt",
        /// The figure does not mean what it says.
        Void "void",
    }
}

named! {
    /// What a figure is worth.
    Verdict "verdict" {
        /// Nothing speaks against it.
        Sound "sound",
        /// Something does.
        Doubtful "doubtful",
        /// It is not what it claims to be, or there is none.
        Void "void",
        /// There is none: this machine cannot do it.
        Unavailable "unavailable",
    }
}

impl Verdict {
    /// Whether there is a figure that means what it says, with or without doubt.
    pub fn stands(self) -> bool {
        matches!(self, Verdict::Sound | Verdict::Doubtful)
    }
}

/// Something found wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What kind.
    pub code: Code,
    /// How much it takes from the figure.
    pub severity: Severity,
    /// What was seen, with numbers, and the likely cause.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}
