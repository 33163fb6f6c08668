//! Collects the OS's counters, and sets and verifies the state of the page cache.
//!
//! It times nothing and judges nothing. What a machine does not report is `None`, never zero.

pub mod error;
pub mod page_cache;
mod folios;
mod layout;
mod space;
mod root;
mod sysfs;
mod mounts;
mod machine;
mod traffic;
mod cgroup;
mod limits;
mod processes;
mod memory_group;
mod cpus;
mod hidden;
mod setup;
mod platform;
mod host;
mod topology;
mod loops;
mod ext4;
mod device;
mod path;
pub mod placement;
mod idle;
mod vitals;
mod canary;
mod counting;
mod zfs;
mod storage;
mod disk;
mod settle;
mod numa;
mod watched_devices;
pub mod counters;
pub mod rehearsal;
pub mod running;
#[cfg(test)]
mod tests;

pub use canary::CANARY_NAME;
pub use disk::{Disk, disk, storage_of_disk, storage_of_read_disk, zero_blocks};
pub use error::Error;
pub use folios::folio_bytes;
pub use host::host;
pub use idle::IdleCounters;
pub use layout::{layout, shared_bytes};
pub use memory_group::{MemoryGroup, remove_left_groups};
pub use path::{path, path_of_machine};
pub use processes::{children, descendants, written_by};
pub use settle::{Settled, settle};
pub use space::{Space, space};
pub use storage::{storage, storage_of};
pub use vitals::vitals;
