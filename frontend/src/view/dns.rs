//! What DNS said at the start of the run, and how long each query took.

use maud::{Markup, html};
use shared::{DnsOutcome, DnsReport, Document};

use super::explain::explain;
/// The queries and their answers.
pub(super) fn dns(document: &Document) -> Markup {
    html! {
        @if let Some(dns) = &document.dns { (report(dns)) } @else { p.muted { "DNS was not asked." } }
    }
}

fn report(dns: &DnsReport) -> Markup {
    html! {
        p { (explain("resolver", "Resolver")) ": " (dns.resolver) }
        @if !dns.queries.is_empty() {
            div.scroll role="region" aria-label="DNS queries" tabindex="0" {
                table #dns {
                    thead {
                        tr {
                            th scope="col" { "Query" }
                            th.num scope="col" { (explain("dns_query", "Time")) }
                            th scope="col" { "Outcome" }
                            th scope="col" { "Records" }
                        }
                    }
                    tbody {
                        @for query in &dns.queries {
                            tr {
                                th scope="row" { (query.record_type) }
                                td.num { (shared::format::millis(query.ns)) }
                                td {
                                    (outcome(query.outcome))
                                    @if let Some(detail) = &query.detail { span.sub { (detail) } }
                                }
                                td.mono { (query.answers.join(", ")) }
                            }
                        }
                    }
                }
            }
        }
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
