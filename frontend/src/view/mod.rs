//! What is on the screen: one file per thing a user would point at. Views draw; they decide nothing.

mod alt_svc;
mod arms;
mod breakdown_bar;
mod comparison;
mod dns;
mod explain;
mod facts;
mod failures;
mod findings;
mod glossary;
mod markup;
mod method;
mod phase_table;
mod plan_form;
mod primer;
mod progress;
mod report;
mod samples_plot;
mod share;
mod site;
mod timeline;
mod warm_series;
mod words;

pub(crate) use explain::{definition_popover, say};
pub(crate) use markup::raw;
pub(crate) use plan_form::{PlanForm, example, plan_form};
pub(crate) use primer::primer;
pub(crate) use progress::progress;
pub(crate) use report::Report;
pub(crate) use share::Share;
pub(crate) use site::{SiteHeader, site_footer};
pub(crate) use words::sentence;
