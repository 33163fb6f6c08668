//! Does one job at a time: the engines and the one timed loop
