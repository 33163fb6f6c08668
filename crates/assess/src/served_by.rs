//! The sources of bytes.

use model::named;

named! {
    /// What served the reads or took the writes, according to the evidence.
    ServedBy "served_by" {
        /// The processor's caches: arrays that fit into one of them.
        CpuCache "cpu-cache",
        /// The processor's caches, memory or both: the sizes do not show which.
        CpuCacheOrRam "cpu-cache-or-ram",
        /// Memory: arrays far larger than the processor's caches, or an in-memory file system.
        Ram "ram",
        /// The OS's caches of names and inodes.
        NameCache "name-cache",
        /// The OS's page cache.
        PageCache "page-cache",
        /// Several of the page cache, a device, a part in memory and holes.
        Mixed "mixed",
        /// The bytes crossed the block layer; caches below it are unknown.
        Device "device",
        /// Nothing: the null engine, holes, unwritten extents, a sync that flushed nothing.
        NoIo "no-io",
        /// Something that this machine cannot see.
        Unverified "unverified",
    }
}
