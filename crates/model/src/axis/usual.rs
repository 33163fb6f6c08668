//! The usual value of an axis, by kind of work.

use crate::case::Kind;

/// A value for each kind of work.
#[derive(Debug, Clone, Copy)]
pub struct Usual {
    read: Option<&'static str>,
    write: Option<&'static str>,
    memory: Option<&'static str>,
    metadata: Option<&'static str>,
    command: Option<&'static str>,
}

/// No kind of work has the axis.
pub(super) const NEVER: Usual =
    Usual { read: None, write: None, memory: None, metadata: None, command: None };

impl Usual {
    /// The value for every kind of work.
    pub(super) const fn every(value: &'static str) -> Usual {
        Usual { command: Some(value), ..Usual::own(value) }
    }
    /// The value for work that ioassay does itself: all but commands.
    pub(super) const fn own(value: &'static str) -> Usual {
        Usual::files(value).and_memory(value).and_metadata(value)
    }
    pub(super) const fn command(value: &'static str) -> Usual {
        Usual { command: Some(value), ..NEVER }
    }
    /// The same, and this value of commands.
    pub(super) const fn and_command(self, value: &'static str) -> Usual {
        Usual { command: Some(value), ..self }
    }
    pub(super) const fn files(value: &'static str) -> Usual {
        Usual::by_file(value, value)
    }
    /// The value for reading, and that for writing.
    pub(super) const fn by_file(read: &'static str, write: &'static str) -> Usual {
        Usual { read: Some(read), write: Some(write), ..NEVER }
    }
    pub(super) const fn metadata(value: &'static str) -> Usual {
        Usual { metadata: Some(value), ..NEVER }
    }
    /// The same, and this value of memory.
    pub(super) const fn and_memory(self, value: &'static str) -> Usual {
        Usual { memory: Some(value), ..self }
    }
    /// The same, and this value of names.
    pub(super) const fn and_metadata(self, value: &'static str) -> Usual {
        Usual { metadata: Some(value), ..self }
    }
    pub(super) const fn read(value: &'static str) -> Usual {
        Usual { read: Some(value), ..NEVER }
    }
    pub(super) const fn write(value: &'static str) -> Usual {
        Usual { write: Some(value), ..NEVER }
    }
    pub(super) const fn memory(value: &'static str) -> Usual {
        Usual { memory: Some(value), ..NEVER }
    }
    /// The value for this kind.
    pub fn of(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Read => self.read,
            Kind::Write => self.write,
            Kind::Memory => self.memory,
            Kind::Metadata => self.metadata,
            Kind::Command => self.command,
        }
    }
}
