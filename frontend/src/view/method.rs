//! How the figures were made: what one needs to repeat the run and to judge its clocks.

use shared::{Document, Family, StampSource, Temperature, Vantage, format};
use yew::prelude::*;

use super::explain::explain;
/// The plan, the places and the clocks.
pub(super) fn method(document: &Document) -> Html {
    let plan = &document.plan;
    let protocols: Vec<&str> = plan.protocols.iter().map(|protocol| protocol.label()).collect();
    let family = match plan.family {
        Family::Auto => "automatic",
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    };
    let mut connections = format!("{} new connections for each protocol", plan.samples);
    if plan.wants(Temperature::Warm) {
        connections.extend([", ", &plan.warm_requests.to_string(), " further requests on each"]);
    }
    html! {
        <dl class="facts-list">
            <dt>{ "Measured" }</dt><dd>{ &document.created }</dd>
            <dt>{ "URL" }</dt><dd class="mono">{ &plan.url }</dd>
            <dt>{ "Protocols" }</dt><dd>{ protocols.join(", ") }</dd>
            <dt>{ "IP version" }</dt><dd>{ family }</dd>
            <dt>{ "Samples" }</dt><dd>{ connections }{ format!("; {} uncounted before", plan.warmup) }</dd>
            <dt>{ explain("seed", "Seed") }</dt>
            <dd>{ plan.seed }{ " (gives the order inside each block again)" }</dd>
            <dt>{ "Accept-Encoding" }</dt><dd>{ plan.accept_encoding.as_deref().unwrap_or("not sent by the probe") }</dd>
            if let Some(address) = &document.address {
                <dt>{ "Address of all probe arms" }</dt><dd class="mono">{ address }</dd>
            }
            <dt>{ "Probe" }</dt><dd>{ vantage(&document.vantage) }</dd>
            if let Some(browser) = &document.browser_vantage {
                <dt>{ "Browser" }</dt><dd>{ vantage(browser) }{ match browser.same_machine {
                    Some(true) => "; on the machine of the probe, so absolute times compare",
                    Some(false) => "; elsewhere than the probe, so compare round trips and shapes, not absolute times",
                    None => "; perhaps elsewhere than the probe: then compare round trips and shapes, not absolute times",
                } }</dd>
            }
            <dt>{ explain("stamp_source", "Stamps") }</dt><dd>{ stamps(document) }</dd>
            <dt>{ "Version" }</dt><dd>{ format!("Roundtrip {}, schema {}", document.tool.version, document.schema) }</dd>
        </dl>
    }
}

fn vantage(vantage: &Vantage) -> String {
    let place = vantage.description.as_deref().unwrap_or("not named");
    format!("{place}; clock step {}", format::millis(vantage.clock_step_ns))
}

/// Which sources stamped the marks, the most exact first.
fn stamps(document: &Document) -> String {
    let names: Vec<&str> = SOURCES
        .into_iter()
        .filter(|(source, _)| {
            let mut samples = document.arms.iter().flat_map(|arm| &arm.samples);
            samples.any(|sample| sample.mark_sources.values().any(|known| known == source))
        })
        .map(|(_, name)| name)
        .collect();
    if names.is_empty() {
        "not recorded".into()
    } else {
        names.join(", ")
    }
}

/// The sources of stamps with their names, the most exact first.
const SOURCES: [(StampSource, &str); 4] = [
    (StampSource::Kernel, "kernel"),
    (StampSource::Syscall, "system call"),
    (StampSource::Task, "task"),
    (StampSource::Browser, "browser (Resource Timing)"),
];
