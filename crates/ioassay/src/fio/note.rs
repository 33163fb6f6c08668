//! What an import says of a job beside the recipe.

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// Why ioassay cannot do what the job asks.
    Refused,
    /// What fio's figure is not, though the job's author may think so.
    Fooled,
    /// What ioassay does in place of an option.
    Instead,
}

/// A sentence, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its kind.
    pub kind: NoteKind,
    /// The line of the job file.
    pub line: usize,
    /// The option as written there, or the job in brackets.
    pub about: String,
    /// What there is to say.
    pub says: String,
}

/// The most places that a sentence names.
const PLACES_MOST: usize = 3;

/// The sentences of one kind among `notes`, in the order of their lines, each with the places that
/// it is about: `line 5 (bs=4KiB): …`.
pub(super) fn sentences<'a>(
    notes: impl IntoIterator<Item = &'a Note>,
    kind: NoteKind,
) -> Vec<String> {
    let mut notes: Vec<&Note> = notes.into_iter().filter(|note| note.kind == kind).collect();
    notes.sort_by_key(|note| note.line);
    let mut told: Vec<(&str, Vec<String>)> = Vec::new();
    for note in notes {
        let place = format!("line {} ({})", note.line, note.about);
        match told.iter_mut().find(|(says, _)| *says == note.says) {
            Some((_, places)) if places.contains(&place) => {}
            Some((_, places)) => places.push(place),
            None => told.push((&note.says, vec![place])),
        }
    }
    let sentence = |(says, places): (&str, Vec<String>)| {
        let more = places.len().saturating_sub(PLACES_MOST);
        let named = places[..places.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{named}{more}: {says}")
    };
    told.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_of_several_places_is_said_once() {
        let note = |kind, line, about: &str, says: &str| Note {
            kind,
            line,
            about: about.to_string(),
            says: says.to_string(),
        };
        let mut notes = vec![
            note(NoteKind::Fooled, 9, "[b]", "it lies"),
            note(NoteKind::Fooled, 2, "[a]", "it lies"),
            note(NoteKind::Fooled, 2, "[a]", "it lies"),
            note(NoteKind::Instead, 1, "offset=1", "0"),
            note(NoteKind::Fooled, 3, "bs=4KiB", "4000"),
        ];
        let told = sentences(&notes, NoteKind::Fooled);
        assert_eq!(told, ["line 2 ([a]), line 9 ([b]): it lies", "line 3 (bs=4KiB): 4000"]);
        notes.extend((10..13).map(|line| note(NoteKind::Fooled, line, "[c]", "it lies")));
        let told = sentences(&notes, NoteKind::Fooled);
        assert_eq!(told[0], "line 2 ([a]), line 9 ([b]), line 10 ([c]) and 2 more: it lies");
        assert_eq!(sentences(&notes, NoteKind::Refused), Vec::<String>::new());
    }
}
