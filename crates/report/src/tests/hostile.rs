//! Assessments in which a record says what could mean something to who reads a form of it.

use assess::Assessment;
use assess::failure::Failure;
use model::host::Storage;
use model::peer::Peer;

/// `assessment` with `text` wherever a record may say what it likes.
pub(super) fn hostile(mut assessment: Assessment, text: &str) -> Assessment {
    let say = |place: &mut String| *place = format!("{text}{place}{text}");
    say(&mut assessment.header.tool.version);
    assessment.header.tool.command.push(text.to_string());
    say(&mut assessment.header.began);
    for place in [
        &mut assessment.header.host.name,
        &mut assessment.header.host.os,
        &mut assessment.header.host.cpu,
    ] {
        say(place);
    }
    assessment.header.host.hypervisor = Some(text.to_string());
    for storage in [&mut assessment.header.storage, &mut assessment.header.source_storage]
        .into_iter()
        .flatten()
    {
        let Storage { file_system, mount_options, devices, notes, .. } = storage;
        say(file_system);
        say(mount_options);
        notes.push(text.to_string());
        storage.directory = format!("/{text}").into();
        for device in devices {
            say(&mut device.name);
            device.model = Some(text.to_string());
        }
    }
    assessment.header.peers.push(Peer { name: text.to_string(), ..model::zoo::peer() });
    for summary in assessment.cases.iter_mut().chain(&mut assessment.twins) {
        summary.case.peer = format!("{text}x");
        summary.failures.push((Failure::Failed(text.to_string()), 1));
        for finding in &mut summary.findings {
            say(&mut finding.message);
        }
    }
    for found in &mut assessment.findings {
        say(&mut found.finding.message);
        say(&mut found.finding.remedy);
    }
    for skip in &mut assessment.skips {
        say(&mut skip.reason);
    }
    assessment.damage.push(text.to_string());
    // The id of a case names its peer.
    let renamed: Vec<(String, String)> = assessment
        .cases
        .iter_mut()
        .map(|summary| {
            let id = summary.case.id();
            (std::mem::replace(&mut summary.id, id.clone()), id)
        })
        .collect();
    let new = |old: &mut String| {
        if let Some((_, id)) = renamed.iter().find(|(known, _)| known == old) {
            *old = id.clone();
        }
    };
    for found in &mut assessment.comparisons {
        new(&mut found.case);
        new(&mut found.base);
    }
    assessment.findings.iter_mut().flat_map(|found| &mut found.cases).for_each(new);
    assessment
}
