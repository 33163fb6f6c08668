//! Asks the OS what it counted, and sets and proves the state of the page cache
