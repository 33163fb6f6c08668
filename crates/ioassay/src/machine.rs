//! This machine, as runs see it.

use model::host::Host;

/// This machine.
pub fn this_host() -> Host {
    Host { no_io_uring: worker::io_uring_refusal(), ..witness::host(kernel::available()) }
}

/// A random number of the OS since it started, by which runs and hosts on one machine know each
/// other; `None` if it tells none.
pub fn boot() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let boot = boot.trim();
    (!boot.is_empty()).then(|| boot.to_string())
}
