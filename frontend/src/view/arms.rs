//! How arms are grouped and named: the same groups, in the same order, in every chart and table.

use maud::{Markup, html};
use shared::{Arm, Document, Nanos, Phase, Protocol, Source, Temperature};

/// Arms that are compared with each other at a glance.
pub(crate) struct Group<'a> {
    /// What they have in common.
    pub(crate) title: &'static str,
    /// The arms; never empty.
    pub(crate) arms: Vec<&'a Arm>,
}

/// The arms of a document by what they have in common, groups without arms left out.
pub(crate) fn groups(document: &Document) -> Vec<Group<'_>> {
    let probe = |temperature| {
        document
            .arms
            .iter()
            .filter(|arm| arm.source == Source::Probe && arm.temperature == Some(temperature))
            .collect::<Vec<_>>()
    };
    let browser = document
        .arms
        .iter()
        .filter(|arm| arm.source == Source::Browser)
        .collect();
    [
        ("New connection, protocol forced", probe(Temperature::Cold)),
        ("Reused connection, protocol forced", probe(Temperature::Warm)),
        ("Browser, its own choice", browser),
    ]
    .into_iter()
    .filter(|(_, arms)| !arms.is_empty())
    .map(|(title, arms)| Group { title, arms })
    .collect()
}

/// The arm's name inside its group.
pub(crate) fn name(arm: &Arm) -> String {
    let protocol = arm.protocol.map_or("protocol hidden", Protocol::label);
    match (arm.source, arm.temperature) {
        (Source::Browser, Some(Temperature::Cold)) => format!("{protocol}, new"),
        (Source::Browser, Some(Temperature::Warm)) => format!("{protocol}, reused"),
        _ => protocol.to_owned(),
    }
}

/// The arm's name with its protocol's mark.
pub(super) fn named(arm: &Arm) -> Markup {
    html! { span.proto.(protocol_class(arm.protocol)) { (name(arm)) } }
}

/// The class that gives a protocol its colour and its dashes.
pub(crate) fn protocol_class(protocol: Option<Protocol>) -> &'static str {
    protocol.map_or("hidden-protocol", Protocol::id)
}

/// The median of a phase over an arm, where it has one.
pub(crate) fn median(arm: &Arm, phase: Phase) -> Option<Nanos> {
    arm.summary.phases.get(&phase).map(|summary| summary.median_ns)
}

/// Milliseconds without their unit, for columns and axes that name it once.
pub(crate) fn bare_millis(time: Nanos) -> String {
    shared::format::millis(time).trim_end_matches(" ms").to_owned()
}

/// The protocol and connection of the arm with this id, for people; the id itself where there is no such arm.
pub(crate) fn label_of(document: &Document, id: &str) -> String {
    document
        .arms
        .iter()
        .find(|arm| arm.id == id)
        .map_or_else(|| id.to_owned(), Arm::label)
}
