//! A result, live or finished or opened: the answer first, then what it rests on.

use shared::{Document, Source, Temperature};
use yew::prelude::*;

use super::{
    alt_svc::alt_svc, breakdown_bar::breakdown_bar, comparison::comparisons, dns::dns, facts::facts_table,
    failures::failures, findings::findings, glossary::glossary, method::method, phase_table::phase_table,
    samples_plot::SamplesPlot, timeline::timeline, warm_series::warm_series,
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
    let document = &props.document;
    let has_browser = document.arms.iter().any(|arm| arm.source == Source::Browser);
    let has_warm = document
        .arms
        .iter()
        .any(|arm| arm.temperature == Some(Temperature::Warm) && arm.source == Source::Probe);
    html! {
        <div class="report stack">
            <section class="card answer" aria-labelledby="headline">
                <p class="target-line"><span class="mono">{ &document.plan.url }</span></p>
                <h2 id="headline" tabindex="-1">{
                    if props.live { "Measuring: these medians still move.".to_owned() } else { shared::headline::headline(document) }
                }</h2>
                { findings(document) }
                { breakdown_bar(document) }
            </section>
            { failures(document) }
            <section class="card" aria-labelledby="phases-title">
                <h2 id="phases-title">{ "Phase by phase" }</h2>
                { phase_table(document) }
            </section>
            if !props.live {
                <section class="card" aria-labelledby="differences-title">
                    <h2 id="differences-title">{ "Is the difference real?" }</h2>
                    { comparisons(document) }
                </section>
            }
            if has_browser || !props.browser_notes.is_empty() {
                <section class="card" aria-labelledby="browser-title">
                    <h2 id="browser-title">{ "What the browser did by itself" }</h2>
                    { for props.browser_notes.iter().map(|note| html! { <p class="note warn">{ note }</p> }) }
                    { timeline(document) }
                </section>
            }
            <section class="card" aria-labelledby="samples-title">
                <h2 id="samples-title">{ "Every sample" }</h2>
                <SamplesPlot document={document.clone()} />
            </section>
            if has_warm {
                <section class="card" aria-labelledby="series-title">
                    <h2 id="series-title">{ "Requests on one connection" }</h2>
                    { warm_series(document) }
                </section>
            }
            if !props.live {
                <section class="card" aria-labelledby="facts-title">
                    <h2 id="facts-title">{ "What else was observed" }</h2>
                    { facts_table(document) }
                    <h3>{ "Where HTTP/3 is advertised" }</h3>
                    { alt_svc(document) }
                    <h3>{ "DNS" }</h3>
                    { dns(document) }
                </section>
                <section class="card" aria-labelledby="method-title">
                    <h2 id="method-title">{ "How it was measured" }</h2>
                    { method(document) }
                </section>
                { glossary() }
            }
        </div>
    }
}
