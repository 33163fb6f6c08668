//! Loops over memory, written for each instruction set
