//! Command options: names, each followed by a value.

use anyhow::{Context, Result, bail};

/// Passes each option in `words` and its value to `take`; `known` lists the valid names.
///
/// # Errors
/// If a name is unknown or lacks a value, or `take` rejects a value.
pub(crate) fn each(
    words: &[&str],
    known: &[&str],
    mut take: impl FnMut(&str, &str) -> Result<()>,
) -> Result<()> {
    let mut words = words.iter();
    while let Some(name) = words.next() {
        if !known.contains(name) {
            bail!("no option `{name}`: known are {}", known.join(", "));
        }
        let value = words.next().with_context(|| format!("{name} has no value"))?;
        take(name, value).with_context(|| format!("{name} {value}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_has_its_value() {
        let read = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let mut seen = Vec::new();
            let all = each(&words, &["--a", "--b"], |name, value| {
                seen.push(format!("{name}={value}"));
                if value == "bad" { bail!("it is bad") } else { Ok(()) }
            });
            all.map(|()| seen.join(" ")).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(read(""), Ok(String::new()));
        assert_eq!(read("--b 1 --a 2"), Ok("--b=1 --a=2".to_owned()));
        assert_eq!(read("--c 1"), Err("no option `--c`: known are --a, --b".to_owned()));
        assert_eq!(read("--a 1 --b"), Err("--b has no value".to_owned()));
        assert_eq!(read("--a bad"), Err("--a bad: it is bad".to_owned()));
    }
}
