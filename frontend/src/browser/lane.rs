//! The browser side: spaced requests to the plan's URL, each read from its Resource Timing entry and nothing else.

use js_sys::Array;
use shared::{
    BrowserReport, Document, Method, Nanos, Phase, Plan, Protocol, Source, Temperature, Vantage, VantageKind,
    source::resource_timing::{self, FetchOutcome, PageContext, Reading},
};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, RequestCache, RequestCredentials, RequestInit, RequestMode, Response};

use super::{clock, description, observer::Observer, pause::pause};

/// What the browser side gave.
pub(crate) struct Outcome {
    /// The exchanges; `None` when none could be made.
    pub(crate) report: Option<BrowserReport>,
    /// What could not be done or seen, in words.
    pub(crate) notes: Vec<String>,
}

/// Milliseconds to wait for an entry once the body has ended.
const ENTRY_AFTER_BODY_MS: i32 = 1_500;

/// Milliseconds to wait for the entry of an opaque response, whose end the page is not told.
const ENTRY_OF_OPAQUE_MS: i32 = 10_000;

/// Makes the plan's browser requests, one after the other, while nothing else measures. `on_made` is told how many are
/// done and says whether to go on.
pub(crate) async fn measure(
    document: &Document,
    same_machine: bool,
    on_made: impl Fn(u32) -> bool,
) -> Outcome {
    let plan = &document.plan;
    let location = gloo::utils::window().location();
    let page_is_tls = location.protocol().is_ok_and(|protocol| protocol == "https:");
    let nothing = |why: &str| Outcome {
        report: None,
        notes: vec![why.into()],
    };
    if is_mixed_content(page_is_tls, &plan.url) {
        return nothing(
            "The browser side was left out: this page came over https and may not make http:// requests (mixed content).",
        );
    }
    let token = token();
    let Some(observer) = Observer::of(&token) else {
        return nothing("The browser side was left out: this browser does not offer Resource Timing.");
    };
    let Some(clock_step) = clock::step() else {
        return nothing("The browser side was left out: this browser's clock does not move.");
    };

    let mut context = PageContext {
        clock_step,
        tls: plan.url.starts_with("https://"),
        loopback: is_loopback(&plan.url),
        same_origin: location
            .origin()
            .is_ok_and(|origin| is_of_origin(&plan.url, &origin)),
        outcome: FetchOutcome::Failed,
        path_rtt: path_rtt(document).filter(|_| same_machine),
    };
    let gap = gap_ms(document);
    let mut notes = Vec::new();
    let mut mode = RequestMode::Cors;
    let mut readings: Vec<Reading> = Vec::new();
    let mut made = 0;
    while made < plan.browser_samples {
        let url = as_fetched(&with_query(&plan.url, &token, made));
        let outcome = fetch(&url, plan, mode).await;
        if made == 0 && mode == RequestMode::Cors && outcome == FetchOutcome::Failed {
            // The failed one is not counted: it may have been stopped by a rule of the page and not by the network.
            mode = RequestMode::NoCors;
            notes.push(
                "The server does not let this page read its responses (no Access-Control-Allow-Origin), or the request \
                 failed. The requests were made again without reading them; status and headers are hidden then."
                    .into(),
            );
            if context.loopback && context.tls {
                notes.push(
                    "A server on this machine often has a certificate of its own, which a browser refuses until it is told \
                     otherwise: open the URL once in another tab, accept the certificate, and measure again."
                        .into(),
                );
            }
            drop(observer.entry(&url, 0).await);
            pause(gap).await;
            continue;
        }
        let wait_ms = match (mode, &outcome) {
            (RequestMode::NoCors, FetchOutcome::Ok { .. }) => ENTRY_OF_OPAQUE_MS,
            _ => ENTRY_AFTER_BODY_MS,
        };
        let entry = observer.entry(&url, wait_ms).await;
        context.outcome = outcome;
        readings.push(match &entry {
            Some(entry) => resource_timing::read(entry, &context),
            None => resource_timing::missing(&context),
        });
        made += 1;
        if !on_made(made) {
            break;
        }
        if made < plan.browser_samples {
            pause(gap).await;
        }
    }
    notes.extend(hidden_note(&readings));
    Outcome {
        report: Some(BrowserReport {
            vantage: Vantage {
                kind: VantageKind::Browser,
                clock_step_ns: clock_step,
                description: description::describe(),
                same_machine: same_machine.then_some(true),
            },
            arms: resource_timing::arms(readings),
        }),
        notes,
    }
}

/// One request whose body is read to the end.
async fn fetch(url: &str, plan: &Plan, mode: RequestMode) -> FetchOutcome {
    let init = RequestInit::new();
    init.set_method(match plan.method {
        Method::Get => "GET",
        Method::Head => "HEAD",
    });
    init.set_mode(mode);
    init.set_cache(RequestCache::NoStore);
    init.set_credentials(RequestCredentials::Omit);
    let Ok(abort) = AbortController::new() else {
        return FetchOutcome::Failed;
    };
    init.set_signal(Some(&abort.signal()));
    let limit = u32::try_from(plan.max_time_ms).unwrap_or(u32::MAX);
    let timeout = gloo::timers::callback::Timeout::new(limit, move || abort.abort());
    let outcome = read_whole(url, &init).await;
    drop(timeout);
    outcome.unwrap_or(FetchOutcome::Failed)
}

async fn read_whole(url: &str, init: &RequestInit) -> Option<FetchOutcome> {
    let promise = gloo::utils::window().fetch_with_str_and_init(url, init);
    let response: Response = JsFuture::from(promise).await.ok()?.dyn_into().ok()?;
    JsFuture::from(response.array_buffer().ok()?).await.ok()?;
    let headers = js_sys::try_iter(&response.headers())
        .ok()
        .flatten()
        .into_iter()
        .flatten()
        .filter_map(|pair| {
            let pair: Array = pair.ok()?.dyn_into().ok()?;
            Some((pair.get(0).as_string()?, pair.get(1).as_string()?))
        })
        .collect();
    Some(FetchOutcome::Ok {
        status: response.status(),
        headers,
    })
}

/// A marker that no other request of the page has.
fn token() -> String {
    // JavaScript prints the number, which spares the formatting of floats.
    let digits = js_sys::Number::from(js_sys::Math::random())
        .to_string_with_radix(36)
        .map(String::from)
        .unwrap_or_default();
    ["roundtrip=", digits.trim_start_matches("0.")].concat()
}

/// The URL with a query that no other request has, so that no cache on the way answers.
fn with_query(url: &str, token: &str, index: u32) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let join = match url.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some(_) => "&",
    };
    [url, join, token, "-", &index.to_string()].concat()
}

/// The URL as the browser writes it in its entries: with a path, without a default port, and so on.
fn as_fetched(url: &str) -> String {
    web_sys::Url::new(url).map_or_else(|_| url.into(), |url| url.href())
}

/// `https` pages may fetch `http` URLs only from this machine.
fn is_mixed_content(page_is_tls: bool, url: &str) -> bool {
    page_is_tls && url.starts_with("http://") && !is_loopback(url)
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host_port.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host_port.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(url: &str) -> bool {
    let host = host(url);
    host.eq_ignore_ascii_case("localhost") || host == "::1" || host.starts_with("127.")
}

fn is_of_origin(url: &str, origin: &str) -> bool {
    url.strip_prefix(origin)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
}

/// The path's round trip time as the probe saw it.
fn path_rtt(document: &Document) -> Option<Nanos> {
    document
        .arms
        .iter()
        .filter(|arm| arm.source == Source::Probe)
        .filter_map(|arm| arm.summary.min_rtt_ns)
        .min()
}

/// Milliseconds between two requests: three times what an HTTP/3 connection costs, so that one begun in the background
/// can be ready for the next request.
fn gap_ms(document: &Document) -> i32 {
    let setup = document
        .arm(Source::Probe, Protocol::H3, Temperature::Cold)
        .and_then(|arm| arm.summary.phases.get(&Phase::Setup))
        .map_or(0, |setup| setup.median_ns.0);
    i32::try_from(setup / 1_000_000 * 3)
        .unwrap_or(i32::MAX)
        .clamp(120, 1_000)
}

/// What has to be said when the phases may not be seen.
fn hidden_note(readings: &[Reading]) -> Option<String> {
    let is_hidden = |reading: &&Reading| reading.sample.facts.hidden.is_some();
    let hidden = readings.iter().filter(is_hidden).count();
    (hidden > 0).then(|| {
        let which = if hidden == readings.len() {
            "each request".to_owned()
        } else {
            format!("{hidden} of {} requests", readings.len())
        };
        let why = readings
            .iter()
            .find(is_hidden)
            .and_then(|reading| reading.sample.facts.hidden.clone())
            .unwrap_or_default();
        format!("Of {which} only the total is known: {why}.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_a_query_of_its_own() {
        for (url, text) in [
            ("https://a/", "https://a/?t=x-3"),
            ("https://a/?", "https://a/?t=x-3"),
            ("https://a/p?q=1#part", "https://a/p?q=1&t=x-3"),
        ] {
            assert_eq!(with_query(url, "t=x", 3), text);
        }
    }

    #[test]
    fn mixed_content_is_known_before_it_fails() {
        assert!(is_mixed_content(true, "http://example.org/"));
        assert!(!is_mixed_content(true, "http://127.0.0.1:8080/"));
        assert!(!is_mixed_content(true, "http://[::1]/"));
        assert!(!is_mixed_content(false, "http://example.org/"));
    }

    #[test]
    fn hosts_are_found_behind_userinfo_and_before_ports() {
        assert_eq!(host("https://u:p@example.org:8443/x@y"), "example.org");
        assert_eq!(host("https://[2001:db8::1]:443/"), "2001:db8::1");
        assert!(!is_loopback("https://localhost.example.org/"));
    }

    #[test]
    fn an_origin_is_not_the_prefix_of_another() {
        assert!(is_of_origin("https://a.org/x", "https://a.org"));
        assert!(!is_of_origin("https://a.org.evil/x", "https://a.org"));
        assert!(!is_of_origin("https://a.org:8443/", "https://a.org"));
    }
}
