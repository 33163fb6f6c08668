//! Axes of cases as flags, one for each axis that can be set.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use model::axis::{Axis, Domain};
use std::ffi::OsStr;

/// The heading above the axes in the help.
pub(crate) const HEADING: &str =
    "Axes (one value, or several with commas; 4k is 4KiB, or 4096 bytes; 4kB is 4000)";

/// The given axes, by name, each with its values.
#[derive(Debug, Clone, Default)]
pub struct AxisArgs(pub Vec<(&'static str, Vec<String>)>);

impl FromArgMatches for AxisArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<AxisArgs, Error> {
        let mut given = AxisArgs::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let given = Axis::settable().filter_map(|axis| {
            let values: Vec<String> = matches.get_many(axis.flag())?.cloned().collect();
            Some((axis.name, values))
        });
        self.0.extend(given);
        Ok(())
    }
}

impl Args for AxisArgs {
    fn augment_args(command: Command) -> Command {
        command.args(Axis::settable().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        AxisArgs::augment_args(command)
    }
}

fn flag(axis: &'static Axis) -> Arg {
    Arg::new(axis.flag())
        .long(axis.flag())
        .value_name(match axis.domain {
            Domain::Bytes | Domain::Blocks => "SIZE",
            Domain::Time => "TIME",
            Domain::Count(_) | Domain::Hosts => "N",
            Domain::Rate => "RATE",
            Domain::Exponent => "THETA",
            Domain::Other | Domain::Names(_) => "NAME",
        })
        .value_delimiter(',')
        .action(ArgAction::Append)
        .value_parser(AxisParser(axis))
        .hide_possible_values(true)
        .help_heading(HEADING)
        .help(axis.help())
}

/// Accepts any text: the recipe and the machine determine an axis's values. The ones that are
/// always valid are for completions.
#[derive(Debug, Clone)]
struct AxisParser(&'static Axis);

impl TypedValueParser for AxisParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let known: Vec<PossibleValue> =
            self.0.known().into_iter().map(PossibleValue::new).collect();
        if known.is_empty() { None } else { Some(Box::new(known.into_iter())) }
    }
}
