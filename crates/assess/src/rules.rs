//! One small function for each finding.
