//! A result, live or finished or opened: the answer first, then what it rests on.

use maud::{Markup, html as markup};
use shared::{Document, Source, Temperature};
use yew::prelude::*;

use super::{
    alt_svc::alt_svc, breakdown_bar::breakdown_bar, comparison::comparisons, dns::dns, facts::facts_table,
    failures::failures, findings::findings, glossary::glossary, markup::raw, method::method,
    phase_table::phase_table, samples_plot::SamplesPlot, timeline::timeline, warm_series::warm_series,
};
use crate::state::Handle;

#[derive(Properties, PartialEq)]
pub(crate) struct ReportProps {
    pub(crate) document: Handle<Document>,
    /// Samples still land: what is only known at the end is left out.
    #[prop_or_default]
    pub(crate) live: bool,
    /// What the browser side could not do.
    #[prop_or_default]
    pub(crate) browser_notes: Vec<String>,
}

/// The whole result.
#[component]
pub(crate) fn Report(props: &ReportProps) -> Html {
    html! {
        <div class="report stack">
            { raw(answers(&props.document, props.live, &props.browser_notes)) }
            <section class="card" aria-labelledby="samples-title">
                <h2 id="samples-title">{ "Every sample" }</h2>
                <SamplesPlot document={props.document.clone()} />
            </section>
            { raw(grounds(&props.document, props.live)) }
        </div>
    }
}

/// What was found.
fn answers(document: &Document, live: bool, browser_notes: &[String]) -> Markup {
    let has_browser = document.arms.iter().any(|arm| arm.source == Source::Browser);
    markup! {
        section.card.answer aria-labelledby="headline" {
            p.target-line { span.mono { (document.plan.url) } }
            h2 #headline tabindex="-1" {
                @if live { "Measuring: these medians still move." } @else { (shared::headline::headline(document)) }
            }
            (findings(document))
            (breakdown_bar(document))
        }
        (failures(document))
        (card("phases", "Phase by phase", &phase_table(document)))
        @if !live { (card("differences", "Is the difference real?", &comparisons(document))) }
        @if has_browser || !browser_notes.is_empty() {
            (card("browser", "What the browser did by itself", &markup! {
                @for note in browser_notes { p.note.warn { (note) } }
                (timeline(document))
            }))
        }
    }
}

/// What it rests on.
fn grounds(document: &Document, live: bool) -> Markup {
    let is_warm =
        |arm: &shared::Arm| arm.temperature == Some(Temperature::Warm) && arm.source == Source::Probe;
    markup! {
        @if document.arms.iter().any(is_warm) {
            (card("series", "Requests on one connection", &warm_series(document)))
        }
        @if !live {
            (card("facts", "What else was observed", &markup! {
                (facts_table(document))
                h3 { "Where HTTP/3 is advertised" }
                (alt_svc(document))
                h3 { "DNS" }
                (dns(document))
            }))
            (card("method", "How it was measured", &method(document)))
            (glossary())
        }
    }
}

fn card(id: &str, title: &str, content: &Markup) -> Markup {
    markup! {
        section.card aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (content)
        }
    }
}
