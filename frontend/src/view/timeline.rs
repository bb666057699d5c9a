//! The browser's requests in order, with the protocol of each: where it switched, or that it may not be seen.

use maud::{Markup, html};
use shared::{Document, Nanos, Phase, Protocol, Sample, Source, Temperature};

use super::arms;

/// One request of the browser side.
struct Request<'a> {
    protocol: Option<Protocol>,
    temperature: Option<Temperature>,
    sample: &'a Sample,
}

/// The browser's requests as a row of boxes.
pub(super) fn timeline(document: &Document) -> Markup {
    let requests = requests(document);
    if requests.is_empty() {
        return Markup::default();
    }
    let protocols: Vec<_> = requests.iter().map(|request| request.protocol).collect();
    html! {
        p.finding { (story(&protocols)) }
        ol #timeline aria-label="Requests of the browser, in order" {
            @for (request, number) in requests.iter().zip(1_u32..) { (request.shown(number)) }
        }
    }
}

impl Request<'_> {
    fn shown(&self, number: u32) -> Markup {
        let next_hop = self.sample.facts.http_version.as_deref().unwrap_or_default();
        let failed = self.sample.failure.is_some();
        let protocol = match self.protocol {
            Some(protocol) => protocol.label(),
            None if failed => "failed",
            None if next_hop.is_empty() => "hidden",
            None => next_hop,
        };
        let connection = match self.temperature {
            Some(Temperature::Cold) => "new connection",
            Some(Temperature::Warm) => "reused",
            None => "",
        };
        let state = if failed { "broken" } else { "whole" };
        html! {
            li.request.(arms::protocol_class(self.protocol)).(state) data-next-hop=(next_hop) {
                span.nr { (number) }
                strong { (protocol) }
                span { (connection) }
                span { @if let Some(total) = total(self.sample) { (shared::format::millis(total)) } }
            }
        }
    }
}

fn requests(document: &Document) -> Vec<Request<'_>> {
    let mut requests: Vec<_> = document
        .arms
        .iter()
        .filter(|arm| arm.source == Source::Browser)
        .flat_map(|arm| {
            arm.samples.iter().map(|sample| Request {
                protocol: arm.protocol,
                temperature: arm.temperature,
                sample,
            })
        })
        .collect();
    requests.sort_by_key(|request| request.sample.seq);
    requests
}

fn total(sample: &Sample) -> Option<Nanos> {
    sample.phases.get(&Phase::Total)?.ns
}

/// What the protocols of the requests, in order, say. It states what was used and never a cause.
fn story(protocols: &[Option<Protocol>]) -> String {
    let known: Vec<Protocol> = protocols.iter().copied().flatten().collect();
    let Some(first) = known.first() else {
        return "The page was not told which protocol its requests used; only the total time of each is known."
            .into();
    };
    let all = protocols.len();
    let switch = protocols
        .iter()
        .position(|protocol| protocol.is_some_and(|protocol| protocol != *first));
    match switch {
        None if known.len() == all => format!("The browser used {first} for all {all} requests."),
        None => format!(
            "The browser used {first} wherever the page was told: {} of {all} requests.",
            known.len()
        ),
        Some(at) => {
            let then = protocols[at].unwrap_or(*first);
            let stays = protocols[at..].iter().all(|protocol| *protocol == Some(then));
            let more = if stays { "" } else { " and changed again later" };
            format!(
                "The browser began with {first} and switched to {then} at request {}{more}.",
                at + 1
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Protocol::{H2, H3};

    #[test]
    fn the_switch_is_named_with_its_request() {
        let h2 = Some(H2);
        let h3 = Some(H3);
        assert_eq!(
            story(&[h2, h2, h3, h3]),
            "The browser began with HTTP/2 and switched to HTTP/3 at request 3."
        );
        assert_eq!(
            story(&[h2, h3, h2]),
            "The browser began with HTTP/2 and switched to HTTP/3 at request 2 and changed again later."
        );
        assert_eq!(story(&[h3, h3]), "The browser used HTTP/3 for all 2 requests.");
    }

    #[test]
    fn hidden_protocols_are_not_guessed() {
        assert!(story(&[None, None]).starts_with("The page was not told"));
        assert!(story(&[Some(H2), None]).ends_with("1 of 2 requests."));
    }
}
