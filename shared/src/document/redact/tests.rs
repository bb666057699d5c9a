//! What is removed is found nowhere in the redacted document.

use proptest::prelude::*;

use super::*;
use crate::{FailurePhase, HttpsRecord, document::example};

fn of(change: impl FnOnce(&mut Document)) -> Document {
    let mut document = example::document();
    change(&mut document);
    document
}

fn json(redacted: &Redacted) -> String {
    serde_json::to_string(&redacted.document).unwrap()
}

#[test]
fn a_public_url_keeps_scheme_host_and_path() {
    let document = of(|d| d.plan.url = "https://me:pw@www.example.org:8443/shop/?item=4711#top".into());
    let redacted = redact(&document, &RedactOptions::default());
    assert_eq!(redacted.document.plan.url, "https://www.example.org:8443/shop/");
    assert_eq!(redacted.document.address.as_deref(), Some("203.0.113.7"));
    assert_eq!(
        redacted.removed,
        [
            "user name and password in the URL",
            "the URL's query",
            "the URL's fragment"
        ]
    );
    let keep = RedactOptions {
        keep_query: true,
        ..RedactOptions::default()
    };
    let kept = redact(&document, &keep).document.plan.url;
    assert_eq!(kept, "https://www.example.org:8443/shop/?item=4711");
}

#[test]
fn redacting_twice_removes_nothing_more() {
    let once = redact(&example::document(), &RedactOptions::default());
    let twice = redact(&once.document, &RedactOptions::default());
    assert_eq!(twice.document, once.document);
    assert_eq!(twice.removed, [""; 0]);
    assert_eq!(once.document.check(), Ok(()));
}

#[test]
fn figures_are_not_touched() {
    let document = example::document();
    let redacted = redact(&document, &RedactOptions::default());
    assert_eq!(redacted.document.comparisons, document.comparisons);
    for (after, before) in redacted.document.arms.iter().zip(&document.arms) {
        assert_eq!(after.summary, before.summary);
        assert_eq!(after.samples[0].phases, before.samples[0].phases);
    }
}

#[test]
fn private_hosts_get_an_alias_wherever_they_occur() {
    for host in [
        "printer",
        "build.corp",
        "Shop.LOCAL",
        "localhost",
        "10.1.2.3",
        "[fd00::7]",
    ] {
        let document = of(|d| {
            d.plan.url = format!("https://{host}:8443/x");
            let dns = d.dns.as_mut().unwrap();
            dns.host = host.into();
            let sample = &mut d.arms[0].samples[0];
            sample.facts.address = Some("10.1.2.3:8443".into());
            sample.facts.headers = vec![("alt-svc".into(), format!("h3=\"{host}:8443\""))];
            sample.facts.notes = vec![format!("asked {host}.")];
            sample.failure = Some(Failure::new(
                FailureKind::ConnectRefused,
                FailurePhase::Tcp,
                format!("{host} (10.1.2.3:8443) refused"),
            ));
        });
        let redacted = redact(&document, &RedactOptions::default());
        assert_eq!(redacted.document.plan.url, "https://server-a.invalid:8443/x");
        let json = json(&redacted);
        for gone in [host, "10.1.2.3", "203.0.113.7"] {
            assert!(
                !json.to_lowercase().contains(&gone.to_lowercase()),
                "{gone} of {host}: {json}"
            );
        }
        let facts = &redacted.document.arms[0].samples[0].facts;
        assert_eq!(facts.header("alt-svc"), Some("h3=\"server-a.invalid:8443\""));
        assert_eq!(facts.notes, ["asked server-a.invalid."]);
        let kept = RedactOptions {
            keep_hosts: true,
            ..RedactOptions::default()
        };
        let kept = redact(&document, &kept).document;
        assert_eq!(kept.plan.url, document.plan.url);
        assert_eq!(kept.address, document.address);
    }
}

#[test]
fn a_public_name_with_a_private_address_is_a_private_host() {
    let document = of(|d| d.address = Some("192.168.7.9".into()));
    let redacted = redact(&document, &RedactOptions::default());
    assert!(
        redacted
            .document
            .plan
            .url
            .starts_with("https://server-a.invalid/")
    );
    assert!(!json(&redacted).contains("example.org"));
}

#[test]
fn other_hosts_get_aliases_of_their_own() {
    let document = of(|d| {
        d.arms[0].samples[0].facts.redirect = Some("https://u:p@login.internal/in?next=%2Fshop#x".into());
        d.dns.as_mut().unwrap().https = vec![HttpsRecord {
            target: "edge.lan.".into(),
            hints: vec!["10.0.0.7".into()],
            ..HttpsRecord::default()
        }];
    });
    let all = RedactOptions {
        alias_all_hosts: true,
        ..RedactOptions::default()
    };
    let redacted = redact(&document, &all);
    let facts = &redacted.document.arms[0].samples[0].facts;
    assert_eq!(redacted.document.plan.url, "https://server-a.invalid/shop");
    assert_eq!(facts.redirect.as_deref(), Some("https://server-b.invalid/in"));
    assert_eq!(
        redacted.document.dns.as_ref().unwrap().https[0].target,
        "server-c.invalid."
    );
    let json = json(&redacted);
    for gone in ["example.org", "203.0.113.7", "internal", "10.0.0.7", "edge.lan"] {
        assert!(!json.contains(gone), "{gone}");
    }
}

#[test]
fn only_listed_response_fields_are_shared() {
    let document = of(|d| {
        d.arms[0].samples[0].facts.headers = vec![
            ("location".into(), "/in?t=1".into()),
            ("set-cookie".into(), "sid=1".into()),
            (
                "server-timing".into(),
                "db;dur=5.25;desc=\"table users\", app;desc=x".into(),
            ),
            ("content-type".into(), "text/html".into()),
        ];
        d.plan.url = "https://www.example.org/?format=html".into();
    });
    let redacted = redact(&document, &RedactOptions::default());
    assert_eq!(
        redacted.document.arms[0].samples[0].facts.headers,
        [
            ("server-timing".to_owned(), "db;dur=5.25, app".to_owned()),
            ("content-type".to_owned(), "text/html".to_owned()),
        ]
    );
    for note in [
        "the response field location",
        "the response field set-cookie",
        "descriptions in Server-Timing",
    ] {
        assert!(redacted.removed.iter().any(|removed| removed == note), "{note}");
    }
}

#[test]
fn private_networks_are_known_by_address_and_name() {
    for host in [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.1.1",
        "100.64.0.1",
        "[::1]",
        "[fe80::1]",
        "[fc00::1]",
        "[::ffff:10.0.0.1]",
        "localhost",
        "a.localhost",
        "nas",
        "nas.local.",
        "x.home.arpa",
    ] {
        assert!(is_private_host(host), "{host}");
    }
    for host in [
        "8.8.8.8",
        "100.128.0.1",
        "[2001:db8::1]",
        "example.org",
        "local.example.org",
        "notlocal.org",
    ] {
        assert!(!is_private_host(host), "{host}");
    }
}

/// One place for a secret each: all that must be gone by default.
fn hide(document: &mut Document, place: usize, token: &str) {
    let redirect = |facts: &mut Facts, url: String| facts.redirect = Some(url);
    let sample = &mut document.arms[1].samples[2];
    match place {
        0 => document.plan.url = format!("https://{token}@www.example.org/"),
        1 => document.plan.url = format!("https://u:{token}@www.example.org/"),
        2 => document.plan.url = format!("https://www.example.org/?a=1&b={token}"),
        3 => document.plan.url = format!("https://www.example.org/#{token}"),
        4 => document.plan.url = format!("https://{token}.local/"),
        5 => document.plan.headers = vec![("authorization".into(), token.into())],
        6 => document.plan.resolve = Some(token.into()),
        7 => sample.facts.certificate_error = Some(format!("valid for {token}")),
        8 => sample.facts.headers = vec![("set-cookie".into(), format!("sid={token}"))],
        9 => sample.facts.headers = vec![("server-timing".into(), format!("a;desc=\"{token}\";dur=1"))],
        10 => redirect(&mut sample.facts, format!("https://u:{token}@www.example.org/")),
        11 => redirect(&mut sample.facts, format!("https://www.example.org/?{token}")),
        12 => redirect(&mut sample.facts, format!("http://{token}.internal/#a")),
        13 => sample.facts.headers = vec![("alt-svc".into(), format!("h3=\"{token}.lan:443\""))],
        14 => document.id = Some(token.into()),
        15 => {
            let detail = format!("certificate for {token}");
            sample.failure = Some(Failure::new(
                FailureKind::TlsCertificate,
                FailurePhase::Tls,
                detail,
            ));
        }
        _ => document.dns.as_mut().unwrap().host = format!("{token}.corp"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_secret_is_found_nowhere_even_where_texts_repeat_it(
        places in proptest::collection::btree_set(0_usize..17, 1..4),
        echo in any::<bool>(),
    ) {
        let mut document = example::document();
        let tokens: Vec<String> = places.iter().map(|place| format!("zq{place}tokenqz")).collect();
        for (place, token) in places.iter().zip(&tokens) {
            hide(&mut document, *place, token);
        }
        // Texts of the probe repeat parts of the URL and hosts. A place that another one replaced holds no secret.
        let before = serde_json::to_string(&document).unwrap();
        for (place, token) in places.iter().zip(&tokens).filter(|(_, token)| echo && before.contains(token.as_str())) {
            let said = match place {
                0..=3 | 5 | 10 | 11 => token.clone(),
                4 => format!("{token}.local"),
                12 => format!("{token}.internal"),
                13 => format!("{token}.lan"),
                16 => format!("{token}.corp"),
                _ => continue,
            };
            document.arms[0].samples[0].facts.notes.push(format!("said {said}"));
        }
        let redacted = redact(&document, &RedactOptions::default());
        let after = json(&redacted);
        for token in &tokens {
            prop_assert!(!after.contains(token.as_str()), "{} of {:?}: {:?}", token, places, redacted.removed);
        }
        prop_assert!(!redacted.removed.is_empty());
    }

    #[test]
    fn no_url_makes_it_panic(url in r"(https?://)?[a-z:@/?#\[\]\\é.]{0,30}") {
        let mut document = example::document();
        document.arms.truncate(1);
        document.plan.url = url;
        redact(&document, &RedactOptions::default());
    }
}
