//! The first line of a record, also of one that a newer program wrote.

use super::damage::with_others;
use super::{Header, RecordError, VERSION, at_most};
use crate::plan::{Planned, Skip};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The maximum length of a line parsed as general JSON, which takes twenty times its size: the
/// header of a newer version.
const VALUE_BYTES_MAX: usize = 8 << 20;

/// The first line of a record, as far as it is readable.
pub(super) struct Head {
    pub(super) header: Header,
    /// For each case of the recorded plan, its index among the readable cases.
    pub(super) places: Vec<Option<usize>>,
    pub(super) damage: Vec<String>,
}

/// Only the version, because a newer header may be unreadable.
#[derive(Deserialize)]
struct Versioned {
    header: VersionLine,
}

#[derive(Deserialize)]
struct VersionLine {
    version: Option<u64>,
}

/// The first line in a known version.
#[derive(Deserialize)]
struct Known {
    header: Header,
}

/// The prefixes of the other lines of a record.
const OTHERS: [&str; 4] = ["{\"trial\":", "{\"invocation\":", "{\"pruned\":", "{\"end\":"];

impl Head {
    pub(super) fn read(line: &str) -> Result<Head, RecordError> {
        let is_other = OTHERS.iter().any(|begin| line.starts_with(begin));
        let no_header = |error: serde_json::Error| RecordError::NoHeader {
            problem: match is_other {
                true => "it is another line of a record".to_string(),
                false => error.to_string(),
            },
        };
        let version = serde_json::from_str::<Versioned>(line).map_err(no_header)?.header.version;
        if let Some(version) = version.filter(|version| *version > u64::from(VERSION)) {
            at_most("bytes of a newer header", line.len(), VALUE_BYTES_MAX)?;
            return Head::newer(serde_json::from_str(line).map_err(no_header)?, version);
        }
        let Known { header } = serde_json::from_str(line).map_err(no_header)?;
        let places = (0..header.plan.cases.len()).map(Some).collect();
        Ok(Head { header, places, damage: Vec::new() })
    }

    /// The header of a newer program, without the cases that this one cannot read.
    fn newer(mut json: Value, version: u64) -> Result<Head, RecordError> {
        let mut damage = vec![format!(
            "the record has format version {version}, and this ioassay reads up to {VERSION}: the \
             report covers only what it understands; update ioassay"
        )];
        let cases = keep_known::<Planned>(json.pointer_mut("/header/plan/cases"));
        let skips = keep_known::<Skip>(json.pointer_mut("/header/plan/skips"));
        for (what, problems) in [("case", &cases), ("skip", &skips)] {
            let mut unknown =
                (0..).zip(problems).filter_map(|(i, p): (usize, _)| Some((i, p.as_ref()?)));
            let first = unknown.next();
            let first = first.map(|(i, p)| format!("{what} {i} is not understood: {p}"));
            damage.extend(first.map(|first| with_others(&first, unknown.count(), what)));
        }
        let known = Known::deserialize(json);
        let Known { header } =
            known.map_err(|error| RecordError::TooNew { version, problem: error.to_string() })?;
        let mut kept = 0..;
        let places = cases.iter().map(|problem| if problem.is_none() { kept.next() } else { None });
        Ok(Head { header, places: places.collect(), damage })
    }
}

/// Removes every item that is not a `T` from a list. Returns the reason for each removed item.
fn keep_known<T: DeserializeOwned>(list: Option<&mut Value>) -> Vec<Option<String>> {
    let Some(things) = list.and_then(Value::as_array_mut) else { return Vec::new() };
    let problem = |thing: &Value| T::deserialize(thing).err().map(|error| error.to_string());
    let problems: Vec<Option<String>> = things.iter().map(problem).collect();
    let mut each = problems.iter();
    things.retain(|_| each.next().is_some_and(Option::is_none));
    problems
}
