//! How fast is this storage, what served the bytes, and how sure is that?
