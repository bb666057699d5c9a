//! What the figures will mean, for someone who sees the page for the first time.

use yew::prelude::*;

/// A schematic of one cold request over TCP and over QUIC, with the names of its phases.
pub(crate) fn primer() -> Html {
    // One round trip is 24 % of the width; the lengths are the round trips a phase should cost, nothing measured.
    let tcp = [
        ("setup", 0, 4800, "setup: 2 round trips"),
        ("wait", 4800, 2700, "wait: 1"),
        ("download", 7500, 1300, ""),
    ];
    let quic = [
        ("setup", 0, 2400, "setup: 1"),
        ("wait", 2400, 2700, "wait: 1"),
        ("download", 5100, 1300, ""),
    ];
    let bar = |parts: [(&'static str, u64, u64, &'static str); 3]| {
        parts.into_iter().map(|(class, from, length, text)| {
            html! {
                <>
                    <rect class={classes!("seg", class)} x={crate::plot::percent(from)} width={crate::plot::percent(length)} y="2" height="28" />
                    <text class="on-seg" x={crate::plot::percent(from + length / 2)} y="16" text-anchor="middle" dominant-baseline="central">{ text }</text>
                </>
            }
        }).collect::<Html>()
    };
    html! {
        <section class="card primer" aria-labelledby="primer-title">
            <div>
                <h2 id="primer-title">{ "What you will see" }</h2>
                <ol>
                    <li>{ "The probe fetches the URL over HTTP/1.1, HTTP/2 and HTTP/3, each forced, in turn and in shuffled order." }</li>
                    <li>{ "Your browser fetches it too and chooses the protocol itself: you see when, and whether, it moves to HTTP/3." }</li>
                    <li>{ "Every phase gets its median and spread, and every difference its interval: real, or not clear." }</li>
                    <li>{ "One link shows a colleague the same page." }</li>
                </ol>
            </div>
            <figure class="chart">
                <figcaption><strong>{ "Why the protocol matters" }</strong><span class="muted">{ ": the first request on a new connection" }</span></figcaption>
                <p class="small schema-label">{ "HTTP/1.1 and HTTP/2: TCP, then TLS" }</p>
                <svg class="schema" height="32" role="img" aria-label="Over TCP: setup costs two round trips, then the request waits one more.">{ bar(tcp) }</svg>
                <p class="small schema-label">{ "HTTP/3: QUIC does both at once" }</p>
                <svg class="schema" height="32" role="img" aria-label="Over QUIC: setup costs one round trip, then the request waits one more.">{ bar(quic) }</svg>
                <p class="muted small">{ "A drawing, not a measurement. What your server really costs, press Measure." }</p>
            </figure>
        </section>
    }
}
