//! The grammar of fio's job files: text in, jobs with their options out.
//!
//! ```text
//! # a comment           ; another one, also behind an option
//! [global]              sets options of all later jobs; there may be several
//! direct=1
//! [reader]              a job
//! rw=randread
//! time_based            an option without a value
//! size=${SIZE}          a variable of the environment
//! numjobs=$ncpus*2      a fact of the machine
//! include more.fio      options in another file
//! ```

use super::here::Here;
use super::quantity::replace_keywords;
use anyhow::{Context, Result, bail};

/// An option as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// Its name.
    pub name: String,
    /// Its value, if it has one, after all replacements.
    pub value: Option<String>,
    /// The line of the job file, from 1. For an included file, that of its inclusion.
    pub line: usize,
    /// Whether it is in a `[global]` section.
    pub is_global: bool,
    /// Why its value cannot be known.
    pub problem: Option<String>,
}

impl Given {
    /// The option as in the file.
    pub(super) fn text(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A job: its name, and its options with those of the `[global]` sections before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// Its name.
    pub name: String,
    /// The line of its name.
    pub line: usize,
    /// Its options, in the order in which they apply: the last of a name counts.
    pub options: Vec<Given>,
}

/// The most jobs in a file.
const JOBS_MOST: usize = 200;

/// The most options of a job, with those of `[global]`.
const OPTIONS_MOST: usize = 500;

/// The deepest inclusion of files in files.
const DEPTH_MOST: u32 = 4;

/// fio takes each section whose name begins so for a global one.
const GLOBAL: &str = "global";

/// The jobs of a job file.
///
/// # Errors
/// If it has none, or a line that fio would not take.
pub(super) fn jobs(text: &str, here: &Here) -> Result<Vec<Section>> {
    let mut globals: Vec<Given> = Vec::new();
    let mut jobs: Vec<Section> = Vec::new();
    let mut is_global = None;
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, without_comment(line));
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').filter(|name| !name.is_empty());
            let name = name.with_context(|| format!("line {number}: '{line}' is no section"))?;
            is_global = Some(name.starts_with(GLOBAL));
            if is_global == Some(false) {
                jobs.push(Section {
                    name: name.to_string(),
                    line: number,
                    options: globals.clone(),
                });
            }
            if jobs.len() > JOBS_MOST {
                bail!("line {number}: a file has at most {JOBS_MOST} jobs");
            }
        } else if !line.is_empty() {
            let Some(is_global) = is_global else {
                bail!(
                    "line {number}: '{line}' is in no section: begin with [global] or the name of \
                     a job in brackets"
                );
            };
            let options = match jobs.last_mut() {
                _ if is_global => &mut globals,
                Some(job) => &mut job.options,
                None => &mut globals,
            };
            add(options, line, (number, is_global), here, 0)?;
        }
    }
    if jobs.is_empty() {
        bail!("it has no jobs: a job is a name in brackets, and the options below it");
    }
    Ok(jobs)
}

/// Adds the option of a line, or those of the file that it includes.
fn add(
    options: &mut Vec<Given>,
    line: &str,
    (number, is_global): (usize, bool),
    here: &Here,
    depth: u32,
) -> Result<()> {
    if options.len() >= OPTIONS_MOST {
        bail!("line {number}: a job has at most {OPTIONS_MOST} options");
    }
    if let Some(file) = line.strip_prefix("include ") {
        let file = file.trim();
        let failed = || format!("line {number}: failed to include '{file}'");
        if depth >= DEPTH_MOST {
            bail!("{}: files include each other more than {DEPTH_MOST} deep", failed());
        }
        let text = here.included(file).with_context(failed)?;
        for line in text.lines().map(without_comment).filter(|line| !line.is_empty()) {
            if line.starts_with('[') {
                bail!("{}: it has the section {line}, and fio takes only options", failed());
            }
            add(options, line, (number, is_global), here, depth + 1)?;
        }
        return Ok(());
    }
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (line, None),
    };
    let (value, problem) = match value.map(|value| known(value, here)) {
        Some(Ok(known)) => (Some(known), None),
        Some(Err(problem)) => (value.map(str::to_string), Some(problem)),
        None => (None, None),
    };
    options.push(Given { name: name.to_string(), value, line: number, is_global, problem });
    Ok(())
}

/// A value with its variables and keywords replaced.
fn known(value: &str, here: &Here) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        let unset = || format!("the variable {name} of the environment is not set: set it");
        text.push_str(before);
        text.push_str(&(here.variable)(name).ok_or_else(unset)?);
        rest = after;
    }
    text.push_str(rest);
    replace_keywords(&text, here)
}

/// A line without its comment and the blanks around it. fio has no way to write one of the signs.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Vec<(String, Vec<String>)> {
        let here =
            Here { variable: |name| (name == "SIZE").then(|| "4g".to_string()), ..Here::nowhere() };
        let jobs = jobs(text, &here).expect(text).into_iter();
        jobs.map(|job| (job.name, job.options.iter().map(Given::text).collect())).collect()
    }

    fn check(text: &str, expected: &[(&str, &[&str])]) {
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let expected: Vec<_> =
            expected.iter().map(|(name, options)| (name.to_string(), texts(options))).collect();
        assert_eq!(parsed(text), expected, "{text}");
    }

    #[test]
    fn jobs_have_the_options_of_the_global_sections_before_them() {
        check(
            "; fio\n[global]\nbs = 4k # small\n\n  [a] ; the first\nrw=read\ntime_based\n\
            [global2]\n\
             bs=8k\n[b b]\nsize=${SIZE}\n[c]",
            &[
                ("a", &["bs=4k", "rw=read", "time_based"]),
                ("b b", &["bs=4k", "bs=8k", "size=4g"]),
                ("c", &["bs=4k", "bs=8k"]),
            ],
        );
        check("[a]\r\nrw=read\r\n", &[("a", &["rw=read"])]);
        check("[a]\nnumjobs=$ncpus*3", &[("a", &["numjobs=3"])]);
        check("[a]\nexec_prerun=a=b", &[("a", &["exec_prerun=a=b"])]);
    }

    #[test]
    fn a_variable_that_is_not_set_is_a_problem_of_its_option_alone() {
        let jobs = jobs("[a]\nbs=${BS}\nrw=read", &Here::nowhere()).expect("it is whole");
        let [bs, rw] = &jobs[0].options[..] else { panic!("{jobs:?}") };
        assert_eq!(
            bs.problem.as_deref(),
            Some("the variable BS of the environment is not set: set it")
        );
        assert_eq!((bs.line, rw.line, &rw.problem), (2, 3, &None));
    }

    #[test]
    fn what_fio_would_not_take_is_refused_with_its_line() {
        for (text, expected) in [
            ("", "it has no jobs"),
            ("[global]\nrw=read", "it has no jobs"),
            ("rw=read\n[a]", "line 1: 'rw=read' is in no section"),
            ("[a]\n[b", "line 2: '[b' is no section"),
            ("[]", "line 1: '[]' is no section"),
            ("[a]\ninclude x.fio", "line 2: failed to include 'x.fio'"),
            (&"[a]\n".repeat(201), "at most 200 jobs"),
            (&format!("[a]\n{}", "rw=read\n".repeat(501)), "at most 500 options"),
        ] {
            let error = jobs(text, &Here::nowhere()).expect_err(text);
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
    }

    #[test]
    fn files_may_include_options() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("more.fio", "# more\nbs=8k\niodepth=4\n").expect("it is written");
        write("loop.fio", "include loop.fio\n").expect("it is written");
        write("jobs.fio", "[b]\n").expect("it is written");
        let here = Here { folder: Some(folder.path().to_path_buf()), ..Here::nowhere() };
        let found = jobs("[a]\ninclude more.fio\nrw=read", &here).expect("it is whole");
        let lines: Vec<_> = found[0].options.iter().map(|it| (it.text(), it.line)).collect();
        let expected = [("bs=8k", 2), ("iodepth=4", 2), ("rw=read", 3)];
        assert_eq!(lines, expected.map(|(text, line)| (text.to_string(), line)));
        for (file, expected) in [("loop.fio", "more than 4 deep"), ("jobs.fio", "the section [b]")]
        {
            let error = jobs(&format!("[a]\ninclude {file}"), &here).expect_err(file);
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
    }

    proptest! {
        /// What is written from a table is read back.
        #[test]
        fn a_written_file_is_read_back(
            table in prop::collection::vec(
                ("[a-z][a-z0-9 -]{0,8}[a-z0-9]", prop::collection::vec(
                    ("[a-z_]{1,9}x", prop::option::of("[a-zA-Z0-9:,/%.-]{1,9}")), 0..5)),
                1..5,
            ),
            blanks in "[ \t]{0,3}", comment in "([;#][ a-z=\\[\\]]{0,5})?",
        ) {
            let table: Vec<_> =
                table.into_iter().filter(|(name, _)| !name.starts_with(GLOBAL)).collect();
            prop_assume!(!table.is_empty());
            let mut text = String::new();
            for (name, options) in &table {
                text += &format!("{blanks}[{name}]{blanks}{comment}\n\n{comment}\n");
                for (name, value) in options {
                    let value = value.iter().map(|value| format!("{blanks}={blanks}{value}"));
                    text += &format!("{blanks}{name}{}{blanks}{comment}\n\
                    ", value.collect::<String>());
                }
            }
            let here = Here::nowhere();
            let read = jobs(&text, &here).expect("it is whole").into_iter().map(|job| {
                let options = job.options.into_iter().map(|given| (given.name, given.value));
                (job.name, options.collect::<Vec<_>>())
            });
            prop_assert_eq!(read.collect::<Vec<_>>(), table);
        }

        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[\\n\\[\\]=#;${}]){0,60}") {
            let _ = jobs(&text, &Here::nowhere());
        }
    }
}
