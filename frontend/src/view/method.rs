//! How the figures were made: what one needs to repeat the run and to judge its clocks.

use maud::{Markup, html};
use shared::{Document, Family, StampSource, Temperature, Vantage, format};

use super::explain::explain;
/// The plan, the places and the clocks.
pub(super) fn method(document: &Document) -> Markup {
    let plan = &document.plan;
    html! {
        dl.facts-list {
            dt { "Measured" }
            dd { (document.created) }
            dt { "URL" }
            dd.mono { (plan.url) }
            dt { "Protocols" }
            dd {
                @for (index, protocol) in plan.protocols.iter().enumerate() {
                    @if index > 0 { ", " }
                    (protocol.label())
                }
            }
            dt { "IP version" }
            dd {
                @match plan.family {
                    Family::Auto => "automatic",
                    Family::Ipv4 => "IPv4",
                    Family::Ipv6 => "IPv6",
                }
            }
            dt { "Samples" }
            dd {
                (plan.samples) " new connections for each protocol"
                @if plan.wants(Temperature::Warm) { ", " (plan.warm_requests) " further requests on each" }
                "; " (explain("warmup", html! { (plan.warmup) " uncounted before" }))
            }
            dt { (explain("seed", "Seed")) }
            dd { (plan.seed) " (gives the order inside each block again)" }
            dt { "Accept-Encoding" }
            dd { (plan.accept_encoding.as_deref().unwrap_or("not sent by the probe")) }
            @if let Some(address) = &document.address {
                dt { "Address of all probe arms" }
                dd.mono { (address) }
            }
            dt { "Probe" }
            dd { (vantage(&document.vantage)) }
            @if let Some(browser) = &document.browser_vantage {
                dt { "Browser" }
                dd {
                    (vantage(browser))
                    @match browser.same_machine {
                        Some(true) => "; on the machine of the probe, so absolute times compare",
                        Some(false) => "; elsewhere than the probe: compare round trips and shapes, not absolute times",
                        None => "; perhaps elsewhere than the probe: then compare round trips and shapes, not absolute times",
                    }
                }
            }
            dt { (explain("stamp_source", "Stamps")) }
            dd { (stamps(document)) }
            dt { "Version" }
            dd { "Roundtrip " (document.tool.version) ", schema " (document.schema) }
        }
    }
}

fn vantage(vantage: &Vantage) -> Markup {
    html! {
        (vantage.description.as_deref().unwrap_or("not named")) "; "
        (explain("clock_step", "clock step")) " " (format::millis(vantage.clock_step_ns))
    }
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
