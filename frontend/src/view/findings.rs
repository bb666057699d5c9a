//! What follows from the figures, each finding with how sure it is and what it rests on.

use maud::{Markup, html};
use shared::{Document, Sureness};

/// The findings of a document; nothing where there are none.
pub(super) fn findings(document: &Document) -> Markup {
    html! {
        @for finding in &document.findings {
            div.note.warn.finding-note data-rule=(finding.rule) {
                p {
                    strong {
                        @match finding.sure {
                            Sureness::Proved => "Proved: ",
                            Sureness::Likely => "Likely: ",
                            Sureness::Possible => "Possible: ",
                        }
                    }
                    (finding.text)
                }
                @if !finding.evidence.is_empty() {
                    details {
                        summary { "Evidence" }
                        dl.facts-list {
                            @for evidence in &finding.evidence {
                                dt { (evidence.what) }
                                dd { (evidence.value) }
                            }
                        }
                    }
                }
            }
        }
    }
}
