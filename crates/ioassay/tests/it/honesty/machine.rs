//! Faults of the machine: its processors, its memory, its system calls, and peers that lie.
