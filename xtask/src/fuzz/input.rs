//! Inputs made by mutating valid ones.

use model::random::Rng;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Text to insert.
static TOKENS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut table: BTreeMap<String, Vec<String>> =
        toml::from_str(include_str!("tokens.toml")).expect("it is whole");
    table.remove("tokens").expect("it has tokens")
});

/// A seed with a few changes, so that most of it remains valid.
pub(super) fn mutated(seeds: &[String], rng: &mut Rng) -> String {
    let mut text = seeds[rng.below(seeds.len() as u64) as usize].clone();
    for _ in 0..=rng.below(4) {
        text = change(text, seeds, rng);
    }
    text
}

fn change(text: String, seeds: &[String], rng: &mut Rng) -> String {
    let token = &TOKENS[rng.below(TOKENS.len() as u64) as usize];
    match rng.below(8) {
        0 => flipped(&text, rng),
        1 => lines(&text, rng),
        // Numbers feed most computations.
        2 | 3 => replaced(&text, token, rng, |c| c.is_ascii_digit()),
        4 => replaced(&text, token, rng, |c| c.is_alphanumeric() || " .-_/".contains(c)),
        5 => {
            let at = place(&text, rng);
            format!("{}{token}{}", &text[..at], &text[at..])
        }
        6 => {
            let other = &seeds[rng.below(seeds.len() as u64) as usize];
            format!("{}{}", &text[..place(&text, rng)], &other[place(other, rng)..])
        }
        _ => {
            let (one, two) = (place(&text, rng), place(&text, rng));
            let (first, last) = (one.min(two), one.max(two).min(one.min(two) + 40));
            let last = (last..).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            format!("{}{}", &text[..first], &text[last..])
        }
    }
}

/// A random position between two characters.
fn place(text: &str, rng: &mut Rng) -> usize {
    let at = rng.below(text.len() as u64 + 1) as usize;
    (at..).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Flips a bit.
fn flipped(text: &str, rng: &mut Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if !bytes.is_empty() {
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << rng.below(8);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Drops, duplicates or swaps a line.
fn lines(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let count = lines.len() as u64;
    if count > 1 {
        let [one, two] = [0; 2].map(|_| rng.below(count) as usize);
        match rng.below(3) {
            0 => drop(lines.remove(one)),
            1 => lines.insert(two, lines[one]),
            _ => lines.swap(one, two),
        }
    }
    lines.concat()
}

/// Replaces a run of matching characters with `token`.
fn replaced(text: &str, token: &str, rng: &mut Rng, is_such: impl Fn(char) -> bool) -> String {
    let from = place(text, rng);
    let Some(start) = text[from..].find(&is_such).map(|at| from + at) else {
        return text.to_owned();
    };
    let end = text[start..].find(|c| !is_such(c)).map_or(text.len(), |at| start + at);
    format!("{}{token}{}", &text[..start], &text[end..])
}
