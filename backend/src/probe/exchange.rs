//! One exchange being recorded: marks with their sources, facts, and at the end a sample.

use http::HeaderMap;
use http::header::LOCATION;
use shared::{
    ConnectionUse, Facts, Failure, HEADERS_OF_INTEREST, Map, Mark, Marks, Nanos, Sample, StampSource,
};

use super::events::Stamp;
use super::net::clock;
use super::target::Target;

/// Longest value of a response field that is kept, in bytes.
const MAX_FIELD_BYTES: usize = 2048;
/// Most response fields that are kept.
const MAX_FIELDS: usize = 32;

/// Collects what happens in one exchange.
#[derive(Debug)]
pub(crate) struct Recorder {
    start: Nanos,
    marks: Marks,
    sources: Map<Mark, StampSource>,
    /// What was observed beside times.
    pub(crate) facts: Facts,
}

impl Recorder {
    /// The exchange begins now.
    pub(crate) fn begin(target: &Target, connection: ConnectionUse) -> Self {
        let start = clock::now();
        let mut recorder = Self {
            start,
            marks: Marks::new(),
            sources: Map::new(),
            facts: Facts {
                connection: Some(connection),
                tls: Some(target.tls),
                ..Facts::default()
            },
        };
        recorder.mark(Mark::Start, Stamp::task(start));
        recorder
    }

    /// When it began, on the process's clock.
    pub(crate) fn start(&self) -> Nanos {
        self.start
    }

    /// Records a mark. A stamp from before the start belongs to another exchange and is dropped.
    pub(crate) fn mark(&mut self, mark: Mark, stamp: Stamp) {
        if let Some(since) = stamp.at.since(self.start) {
            self.marks.set(mark, since);
            self.sources.insert(mark, stamp.source);
        }
    }

    /// Records a mark if it happened.
    pub(crate) fn mark_if(&mut self, mark: Mark, stamp: Option<Stamp>) {
        if let Some(stamp) = stamp {
            self.mark(mark, stamp);
        }
    }

    /// Records the final response's status and fields of interest.
    pub(crate) fn response(&mut self, status: http::StatusCode, fields: &HeaderMap, target: &Target) {
        self.facts.status = Some(status.as_u16());
        self.facts.headers = fields
            .iter()
            .filter(|(name, _)| HEADERS_OF_INTEREST.contains(&name.as_str()))
            .take(MAX_FIELDS)
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes());
                (
                    name.as_str().to_owned(),
                    shorten(&value, MAX_FIELD_BYTES).to_owned(),
                )
            })
            .collect();
        if status.is_redirection() {
            self.facts.redirect = fields
                .get(LOCATION)
                .and_then(|location| location.to_str().ok())
                .and_then(|location| target.resolve(location));
        }
    }

    /// The exchange is over.
    pub(crate) fn finish(self, failure: Option<Failure>) -> Sample {
        Sample {
            marks: self.marks,
            mark_sources: self.sources,
            facts: self.facts,
            failure: failure.map(|failure| Failure {
                detail: shorten(&failure.detail, MAX_FIELD_BYTES).to_owned(),
                ..failure
            }),
            ..Sample::default()
        }
    }
}

/// At most `bytes` of `text`, cut between characters.
fn shorten(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use shared::Plan;

    use super::*;

    fn target() -> Target {
        Target::parse(&Plan::new("https://example.org/a")).unwrap()
    }

    #[test]
    fn a_stamp_from_before_the_start_is_no_mark() {
        clock::now();
        let mut recorder = Recorder::begin(&target(), ConnectionUse::Reused);
        recorder.start = Nanos(10);
        recorder.mark(Mark::Headers, Stamp::syscall(Nanos(9)));
        recorder.mark(Mark::End, Stamp::syscall(Nanos(12)));
        let sample = recorder.finish(None);
        assert_eq!(sample.marks.at(Mark::Headers), None);
        assert_eq!(sample.marks.at(Mark::End), Some(Nanos(2)));
        assert_eq!(sample.mark_sources[&Mark::End], StampSource::Syscall);
    }

    #[test]
    fn only_fields_of_interest_are_kept_and_long_ones_are_cut() {
        let mut fields = HeaderMap::new();
        fields.insert("set-cookie", "secret".parse().unwrap());
        fields.insert("server", "ü".repeat(2000).parse().unwrap());
        fields.insert("location", "/b".parse().unwrap());
        let mut recorder = Recorder::begin(&target(), ConnectionUse::New);
        recorder.response(http::StatusCode::FOUND, &fields, &target());
        assert_eq!(recorder.facts.redirect.as_deref(), Some("https://example.org/b"));
        assert_eq!(recorder.facts.header("set-cookie"), None);
        assert_eq!(recorder.facts.header("server").unwrap().len(), MAX_FIELD_BYTES);
    }
}
