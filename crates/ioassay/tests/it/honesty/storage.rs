//! Faults of storage: what serves the bytes is not what it seems.
