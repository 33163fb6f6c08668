//! This machine, as runs see it.

use model::host::Host;

/// This machine.
pub fn this_host() -> Host {
    Host { no_io_uring: worker::io_uring_refusal(), ..witness::host(kernel::available()) }
}
