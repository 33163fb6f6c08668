//! Which CPUs this process and its children may use, and which node their memory comes from.
//!
//! Threads and programs started later inherit both. So a coordinator that restricts itself also
//! restricts its workers, in any language.

use crate::cpus;
use crate::cpus::{CPUS_MOST, CpusByCore};
use crate::root::Root;
use std::io;

pub use crate::cpus::parse_cpus;

/// The CPUs that this thread may run on, in ascending order.
///
/// # Errors
/// The OS's error.
pub fn allowed() -> io::Result<Vec<u32>> {
    let mut mask: Mask = [0; WORDS];
    // SAFETY: the OS writes at most the given number of bytes, which is the size of `mask`. `mask`
    // outlives the call.
    let written = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, 0, size_of::<Mask>(), mask.as_mut_ptr())
    };
    if written < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(cpus_of(&mask))
}

/// The CPUs that this program may use, by core; `None` if the OS does not report which share one.
pub fn by_core() -> Option<CpusByCore> {
    cpus::by_core(&Root::machine())
}

/// Restricts this thread, and everything that it starts, to `cpus`.
///
/// # Errors
/// The OS's error.
pub fn run_on(cpus: &[u32]) -> io::Result<()> {
    let mask = mask_of(cpus);
    // SAFETY: the OS reads the given number of bytes, which is the size of `mask`. `mask` outlives
    // the call.
    let outcome =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of::<Mask>(), mask.as_ptr()) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

const BITS: usize = libc::c_ulong::BITS as usize;
const WORDS: usize = CPUS_MOST / BITS;

/// One bit per CPU.
type Mask = [libc::c_ulong; WORDS];

fn mask_of(cpus: &[u32]) -> Mask {
    let mut mask: Mask = [0; WORDS];
    for cpu in cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CPUS_MOST) {
        mask[cpu / BITS] |= 1 << (cpu % BITS);
    }
    mask
}

fn cpus_of(mask: &Mask) -> Vec<u32> {
    let is_set = |cpu: &u32| mask[*cpu as usize / BITS] >> (*cpu as usize % BITS) & 1 == 1;
    (0..CPUS_MOST as u32).filter(is_set).collect()
}

/// The CPUs of a NUMA node.
///
/// # Errors
/// If the node does not exist: a message that lists the existing nodes.
pub fn node_cpus(node: u32) -> Result<Vec<u32>, String> {
    node_cpus_of(&Root::machine(), node)
}

fn node_cpus_of(root: &Root, node: u32) -> Result<Vec<u32>, String> {
    let read = |name: &str| {
        std::fs::read_to_string(root.at(format!("/sys/devices/system/node/{name}"))).ok()
    };
    let cpus = read(&format!("node{node}/cpulist")).and_then(|list| parse_cpus(&list));
    cpus.ok_or_else(|| match read("online") {
        Some(online) => format!("no node {node} has processors; known are {}", online.trim()),
        None => "this OS reports no NUMA nodes".to_string(),
    })
}

/// Restricts the memory of this thread, and of everything that it starts, to this node.
///
/// # Errors
/// The OS's error.
pub fn take_memory_of(node: u32) -> io::Result<()> {
    let mut mask = [0u64; 16];
    let bits = 64 * mask.len();
    let word = mask.get_mut(node as usize / 64);
    *word.ok_or_else(|| io::Error::other("a node beyond 1023"))? |= 1 << (node % 64);
    // SAFETY: the OS reads as many bits as the call states, minus one, and `mask` has that many.
    let outcome =
        unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, mask.as_ptr(), bits + 1) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_every_cpu_of_a_large_machine() {
        let all = [0, 63, 64, 1023, 1024, 8191];
        assert_eq!(cpus_of(&mask_of(&all)), all);
        assert_eq!(cpus_of(&mask_of(&[8192])), [0; 0]);
    }

    #[test]
    fn a_thread_runs_where_it_is_told() {
        #[expect(clippy::disallowed_methods, reason = "a test may panic")]
        let one = std::thread::spawn(|| {
            let last = *allowed().expect("the OS tells").last().expect("one at least");
            run_on(&[last]).expect("it may run there");
            (last, allowed().expect("the OS tells"))
        });
        let (last, then) = one.join().expect("it does not panic");
        assert_eq!(then, [last]);
        assert!(node_cpus(4_000).is_err());
    }
}
