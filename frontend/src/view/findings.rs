//! What follows from the figures, each finding with how sure it is and what it rests on.

use shared::{Document, Finding, Sureness};
use yew::prelude::*;

/// The findings of a document; nothing where there are none.
pub(super) fn findings(document: &Document) -> Html {
    document.findings.iter().map(finding).collect()
}

fn finding(finding: &Finding) -> Html {
    let sure = match finding.sure {
        Sureness::Proved => "Proved",
        Sureness::Likely => "Likely",
        Sureness::Possible => "Possible",
    };
    html! {
        <div class="note warn finding-note" key={finding.rule.clone()} data-rule={finding.rule.clone()}>
            <p><strong>{ sure }{ ": " }</strong>{ &finding.text }</p>
            if !finding.evidence.is_empty() {
                <details>
                    <summary>{ "Evidence" }</summary>
                    <dl class="facts-list">
                        { for finding.evidence.iter().map(|evidence| html! {
                            <><dt>{ &evidence.what }</dt><dd>{ &evidence.value }</dd></>
                        }) }
                    </dl>
                </details>
            }
        </div>
    }
}
