//! What the OS is asked, and answers, on this very machine.
