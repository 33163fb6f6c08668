//! Where a trial waits for those on other hosts.

/// Where a trial waits for those on other hosts.
pub trait Barrier {
    /// Called when it is ready. Returns when it begins, in nanoseconds of the OS's monotonic clock.
    ///
    /// # Errors
    /// Why it must not begin.
    fn begin(&self) -> Result<u64, String>;

    /// Called when its work is done. Returns when that of the others is, so that what follows
    /// disturbs none of them.
    ///
    /// # Errors
    /// Why that is not known.
    fn end(&self) -> Result<(), String>;
}
