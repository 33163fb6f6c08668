//! What one host did of what several did together, in the report of its own record.

use crate::members::AXIS;
use crate::phrases::Phrase;
use assess::one_host::OneHost;
use model::case::Case;

/// That a record is of one of several hosts.
pub(crate) fn warning(host: &OneHost) -> String {
    let OneHost { called, number, of, .. } = host;
    let noun = host.noun();
    format!(
        "this is the record of {called} alone, {noun} {number} of {of} in lockstep: its figures \
         are a part of what all did; give the records of all for the whole"
    )
}

/// A host's part of what these hosts did: `h1's part of 4 hosts`.
pub(crate) fn of(host: &OneHost, hosts: &str) -> String {
    format!("{}'s part of {hosts}", host.called)
}

/// Makes the words of a case say that it is the part of this host, if others measured it too.
pub(crate) fn say(host: Option<&OneHost>, case: &Case, phrases: &mut [Phrase]) {
    let Some(host) = host.filter(|host| host.shares(case)) else { return };
    for phrase in phrases.iter_mut().filter(|phrase| phrase.axis == AXIS) {
        (phrase.said, phrase.short) = (of(host, &phrase.said), of(host, &phrase.short));
    }
}
