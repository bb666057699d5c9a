//! The browser's requests in order, with the protocol of each: where it switched, or that it may not be seen.

use shared::{Document, Nanos, Phase, Protocol, Sample, Source, Temperature};
use yew::prelude::*;

use super::arms;
/// One request of the browser side.
struct Request<'a> {
    protocol: Option<Protocol>,
    temperature: Option<Temperature>,
    sample: &'a Sample,
}

/// The browser's requests as a row of boxes.
pub(super) fn timeline(document: &Document) -> Html {
    let requests = requests(document);
    if requests.is_empty() {
        return html! {};
    }
    let protocols: Vec<_> = requests.iter().map(|request| request.protocol).collect();
    let boxes = requests.iter().enumerate().map(|(index, request)| {
        let next_hop = request.sample.facts.http_version.clone().unwrap_or_default();
        let shown = match request.protocol {
            Some(protocol) => protocol.label().to_owned(),
            None if request.sample.failure.is_some() => "failed".into(),
            None if next_hop.is_empty() => "hidden".into(),
            None => next_hop.clone(),
        };
        let connection = match request.temperature {
            Some(Temperature::Cold) => "new connection",
            Some(Temperature::Warm) => "reused",
            None => "",
        };
        let total = total(request.sample).map(shared::format::millis);
        html! {
            <li key={index} class={classes!("request", arms::protocol_class(request.protocol),
                    request.sample.failure.as_ref().map(|_| "broken"))} data-next-hop={next_hop}>
                <span class="nr">{ index + 1 }</span>
                <strong>{ shown }</strong>
                <span>{ connection }</span>
                <span>{ total.unwrap_or_default() }</span>
            </li>
        }
    });
    html! {
        <>
            <p class="finding">{ story(&protocols) }</p>
            <ol id="timeline" aria-label="Requests of the browser, in order">{ for boxes }</ol>
        </>
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
