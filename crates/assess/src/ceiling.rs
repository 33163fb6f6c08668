//! The measured bounds that apply to a case.
