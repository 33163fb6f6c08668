//! Honesty: every known way in which a figure is wrong, planted for real, and caught.
//!
//! Nothing is imitated: what is said to be throttled is throttled. Each fault has a twin, the same
//! run without it, of which nothing of the kind may be said.

mod plant;
mod storage;
mod machine;
