//! What commands' options have in common.

/// Reads a number that is at least `LEAST`.
///
/// # Errors
/// What is wrong with `text`.
pub(crate) fn at_least<const LEAST: usize>(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|error| format!("{error}"))?;
    if number < LEAST { Err(format!("use at least {LEAST}")) } else { Ok(number) }
}

#[cfg(test)]
pub(crate) use tests::{check, refused};

#[cfg(test)]
mod tests {
    use clap::{Args, Command};
    use std::fmt::Debug;

    fn read<T: Args>(line: &str) -> Result<T, clap::Error> {
        let command = T::augment_args(Command::new("x").no_binary_name(true));
        T::from_arg_matches(&command.try_get_matches_from(line.split_whitespace())?)
    }

    /// Checks that the options of `line` are `expected`.
    #[track_caller]
    pub(crate) fn check<T: Args + Debug + PartialEq>(line: &str, expected: &T) {
        assert_eq!(&read::<T>(line).expect("it is right"), expected, "{line}");
    }

    /// Checks that the options of each of `lines` are refused, by the name of the first.
    #[track_caller]
    pub(crate) fn refused<T: Args + Debug>(lines: &[&str]) {
        for line in lines {
            let error = read::<T>(line).expect_err("it is wrong").to_string();
            let name = line.split(' ').next().expect("a split has a first part");
            assert!(error.contains(name), "{line}: {error}");
        }
    }
}
