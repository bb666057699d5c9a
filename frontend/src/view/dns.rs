//! What DNS said at the start of the run, and how long each query took.

use shared::{DnsOutcome, DnsReport, Document};
use yew::prelude::*;

use super::explain::explain;
/// The queries and their answers.
pub(super) fn dns(document: &Document) -> Html {
    match &document.dns {
        Some(dns) => report(dns),
        None => html! { <p class="muted">{ "DNS was not asked." }</p> },
    }
}

fn report(dns: &DnsReport) -> Html {
    html! {
        <>
            <p>{ explain("resolver", "Resolver") }{ ": " }{ &dns.resolver }</p>
            if !dns.queries.is_empty() {
                <div class="scroll" role="region" aria-label="DNS queries" tabindex="0">
                    <table id="dns">
                        <thead><tr>
                            <th scope="col">{ "Query" }</th><th scope="col" class="num">{ "Time" }</th>
                            <th scope="col">{ "Outcome" }</th><th scope="col">{ "Records" }</th>
                        </tr></thead>
                        <tbody>{ for dns.queries.iter().map(|query| html! {
                            <tr key={query.record_type.clone()}>
                                <th scope="row">{ &query.record_type }</th>
                                <td class="num">{ shared::format::millis(query.ns) }</td>
                                <td>{ outcome(query.outcome) }
                                    if let Some(detail) = &query.detail { <span class="sub">{ detail }</span> }</td>
                                <td class="mono">{ query.answers.join(", ") }</td>
                            </tr>
                        }) }</tbody>
                    </table>
                </div>
            }
        </>
    }
}

fn outcome(outcome: DnsOutcome) -> &'static str {
    match outcome {
        DnsOutcome::Answered => "answered",
        DnsOutcome::NoRecords => "no records of this type",
        DnsOutcome::Nxdomain => "the name does not exist",
        DnsOutcome::Timeout => "no answer in time",
        DnsOutcome::Failed => "failed",
    }
}
