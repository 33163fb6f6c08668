//! Says the judgement: tables and JSON
