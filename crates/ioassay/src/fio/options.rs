//! The options that fio has, and what becomes of each: the table `options.toml`.

use model::units::nearest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What becomes of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// It has a counterpart.
    Taken,
    /// It changes nothing that is measured.
    Quiet,
    /// It is left out, which changes the meaning: what ioassay does, or what to do.
    LeftOut(String),
    /// Without it, the job would ask something else: why ioassay has no counterpart.
    Refused(String),
    /// It is of an engine, which decides what becomes of it.
    OfEngine,
}

/// An option that fio has.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// The name under which the rest of the import knows it.
    pub name: String,
    /// What becomes of it.
    pub fate: Fate,
    /// Values with which it does nothing, besides 0.
    idle: Vec<String>,
}

impl Known {
    /// Whether it does nothing with this value.
    pub(super) fn is_idle(&self, value: Option<&str>) -> bool {
        value.is_some_and(|value| value == "0" || self.idle.iter().any(|idle| idle == value))
    }
}

/// The table as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    taken: Vec<String>,
    quiet: Vec<String>,
    of_engines: Vec<String>,
    left_out: Vec<Row>,
    refused: Vec<Row>,
}

/// Options with one reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    options: Vec<String>,
    #[serde(default)]
    idle: Vec<String>,
    why: String,
}

/// Each option, by each of its names.
static KNOWN: LazyLock<BTreeMap<String, Known>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("options.toml")).expect("the table is whole");
    let plain = |options: Vec<String>, fate: Fate| {
        options.into_iter().map(move |names| (names, fate.clone(), Vec::new()))
    };
    let of_row = |row: Row, fate: fn(String) -> Fate| {
        let Row { options, idle, why } = row;
        options.into_iter().map(move |names| (names, fate(why.clone()), idle.clone()))
    };
    let all = plain(table.taken, Fate::Taken)
        .chain(plain(table.quiet, Fate::Quiet))
        .chain(plain(table.of_engines, Fate::OfEngine))
        .chain(table.left_out.into_iter().flat_map(|row| of_row(row, Fate::LeftOut)))
        .chain(table.refused.into_iter().flat_map(|row| of_row(row, Fate::Refused)));
    let mut known = BTreeMap::new();
    for (names, fate, idle) in all {
        let name = names.split(' ').next().unwrap_or_default().to_string();
        for each in names.split(' ') {
            let row = Known { name: name.clone(), fate: fate.clone(), idle: idle.clone() };
            let before = known.insert(each.to_string(), row);
            assert!(before.is_none(), "an option is in the table once: {each}");
        }
    }
    known
});

/// The option with this name.
///
/// # Errors
/// The name that is most like it, if any is, if fio has no such option.
pub(super) fn known(name: &str) -> Result<&'static Known, Option<&'static str>> {
    KNOWN.get(name).ok_or_else(|| {
        let all: Vec<&'static str> = KNOWN.keys().map(String::as_str).collect();
        nearest(name, &all)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_option_has_one_row_and_an_unknown_one_a_nearest() {
        assert!(known("readwrite").is_ok_and(|known| known.name == "rw"));
        assert_eq!(known("iodeth").err(), Some(Some("iodepth")));
        assert_eq!(known("§").err(), Some(None));
    }

    #[test]
    fn a_value_can_make_an_option_idle() {
        let check = |name: &str, value, expected| {
            assert_eq!(known(name).expect(name).is_idle(value), expected, "{name} {value:?}");
        };
        check("thinktime", Some("0"), true);
        check("thinktime", Some("5"), false);
        check("zonemode", Some("none"), true);
        check("zonemode", Some("zbd"), false);
        check("fill_device", None, false);
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn each_option_of_the_installed_fio_is_in_the_table() {
        let Ok(fio) = Command::new("fio").arg("--cmdhelp").output() else {
            eprintln!("skipped: the package fio is not installed");
            return;
        };
        let listed = String::from_utf8_lossy(&fio.stdout).into_owned();
        let names = listed.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
        let lacking: Vec<&str> = names.filter(|name| known(name).is_err()).collect();
        assert_eq!(lacking, Vec::<&str>::new());
    }
}
