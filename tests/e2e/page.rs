//! The page in a real Chromium: a run from the form to its rows, over HTTP/3, and what it shows.

use std::fs;

use tests::browser::{Options, Page, with_browser};
use tests::caddy::Caddy;
use tests::programs::{need, skip, workspace};
use tests::server::Server;
use thirtyfour::Key;
use thirtyfour::error::WebDriverResult;

/// Whether the binary under test holds the page; else the test is skipped.
pub(crate) async fn has_page(server: &Server) -> bool {
    let built = server.client().get("/").await.text().contains(".wasm");
    if !built {
        skip("the binary was built without the page (`cargo xtask page`, then build the backend again)");
    }
    built
}

/// A browser that trusts the test origin and uses HTTP/3 for it at once.
pub(crate) fn options(server: &Server) -> Options {
    Options {
        force_quic: vec![server.origin_authority().to_owned()],
        accept: vec![server.spki.clone()],
        ..Options::default()
    }
}

/// Measures a URL from the form, with few samples, to the end.
pub(crate) async fn measure(page: &Page, url: &str) -> WebDriverResult<()> {
    page.enter("#samples", "4").await?;
    page.enter("#browser_samples", "5").await?;
    page.enter_url(url).await?;
    page.click("#start").await?;
    let state = page.wait_for_state(&["done", "error"]).await?;
    if state == "error" {
        let shown = page.script_text("return document.body.innerText").await?;
        panic!("the run failed:\n{shown}");
    }
    Ok(())
}

/// Milliseconds at the start of a cell, such as `12.3 ms`.
fn millis(cell: &str) -> Option<f64> {
    let number: String = cell
        .trim_start()
        .chars()
        .take_while(|character| character.is_ascii_digit() || ".,".contains(*character))
        .filter(|character| *character != ',')
        .collect();
    number.parse().ok()
}

async fn cell_millis(page: &Page, arm: &str, phase: &str) -> WebDriverResult<f64> {
    let cell = page.cell(arm, phase).await?;
    Ok(millis(&cell).unwrap_or_else(|| panic!("{arm} {phase} shows no time: {cell:?}")))
}

/// Rows of all three forced protocols and of the browser, with times that can be true.
async fn assert_four_kinds_of_rows(page: &Page, server_delay_ms: f64) -> WebDriverResult<()> {
    let arms = page.arms().await?;
    for arm in ["h1-cold", "h2-cold", "h3-cold", "h1-warm", "h2-warm", "h3-warm"] {
        assert!(arms.iter().any(|id| id == arm), "no row {arm} among {arms:?}");
    }
    let browser: Vec<&String> = arms.iter().filter(|id| id.starts_with("browser-")).collect();
    assert!(!browser.is_empty(), "no row of the browser among {arms:?}");
    assert!(
        browser.iter().all(|id| *id != "browser-hidden"),
        "the server allows timing: {browser:?}"
    );
    for arm in &arms {
        let (ttfb, total) = (
            cell_millis(page, arm, "ttfb").await?,
            cell_millis(page, arm, "total").await?,
        );
        assert!(total >= ttfb && ttfb > 0.0, "{arm}: ttfb {ttfb}, total {total}");
        assert!(
            ttfb >= server_delay_ms,
            "{arm}: ttfb {ttfb} in spite of the delay"
        );
        if arm.ends_with("warm") {
            let setup = page.cell(arm, "setup").await?;
            assert_eq!(
                millis(&setup),
                None,
                "{arm}: a reused connection has no setup: {setup:?}"
            );
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_from_the_form_shows_three_forced_protocols_and_the_browser_over_h3() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    with_browser(&options(&server), async |page| {
        page.open(&server.origin).await?;
        measure(&page, &format!("{}/t?delay=25ms&bytes=20000", server.origin)).await?;
        assert_four_kinds_of_rows(&page, 25.0).await?;
        assert_over_h3(&page).await?;
        let headline = page.element("#headline").await?.text().await?;
        assert!(
            headline.split_whitespace().count() > 4,
            "a sentence: {headline:?}"
        );
        assert_eq!(page.console_errors().await?, [] as [String; 0]);
        Ok(())
    })
    .await;
}

/// The browser's own entries say `h3`: for the page itself, and for every measured request, whose protocol the page
/// shows as it is.
async fn assert_over_h3(page: &Page) -> WebDriverResult<()> {
    let document = page
        .script_text("return performance.getEntriesByType('navigation')[0].nextHopProtocol")
        .await?;
    assert_eq!(document, "h3", "the page itself came over HTTP/3");
    let (recorded, shown) = next_hops(page).await?;
    assert_eq!(
        recorded, ["h3"; 5],
        "what the browser recorded of the measured requests"
    );
    assert_eq!(shown, recorded, "what the page shows of them");
    Ok(())
}

/// The protocol of each measured request, in order: as the browser recorded it, and as the page shows it.
async fn next_hops(page: &Page) -> WebDriverResult<(Vec<String>, Vec<String>)> {
    let recorded = page
        .script(
            "return performance.getEntriesByType('resource').filter(entry => entry.name.includes('/t?'))\
             .map(entry => entry.nextHopProtocol)",
        )
        .await?;
    let shown = page
        .script(
            "return [...document.querySelectorAll('#timeline [data-next-hop]')].map(box => box.dataset.nextHop)",
        )
        .await?;
    Ok((serde_json::from_value(recorded)?, serde_json::from_value(shown)?))
}

/// Which protocol that is depends on the browser's rules for local certificates; the page must say what it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_is_not_told_shows_the_protocols_it_chose() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    let unforced = Options {
        force_quic: Vec::new(),
        ..options(&server)
    };
    with_browser(&unforced, async |page| {
        page.open(&server.page).await?;
        measure(&page, &format!("{}/t", server.origin)).await?;
        let (recorded, shown) = next_hops(&page).await?;
        assert_eq!(recorded.len(), 5, "{recorded:?}");
        assert_eq!(shown, recorded);
        assert_eq!(recorded[0], "h2", "the first one can know of no HTTP/3");
        let arms = page.arms().await?;
        assert!(arms.iter().any(|arm| arm.starts_with("browser-h2")), "{arms:?}");
        Ok(())
    })
    .await;
}

/// Without the page: what a page may read of the test origin, and that Chromium agrees to HTTP/3 with its certificate.
#[tokio::test(flavor = "multi_thread")]
async fn the_test_origin_lets_a_browser_see_everything_over_h3() {
    let server = Server::start();
    with_browser(&options(&server), async |page| {
        page.driver
            .goto(&format!("{}/t?bytes=100", server.origin))
            .await?;
        let entry = page
            .script(
                "const entry = performance.getEntriesByType('navigation')[0].toJSON();\
                 return [entry.nextHopProtocol, entry.encodedBodySize, entry.responseStart > 0]",
            )
            .await?;
        assert_eq!(entry, serde_json::json!(["h3", 100, true]));
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_server_is_measured_from_both_sides() {
    let Some(program) = need("caddy") else { return };
    let caddy = Caddy::start(&program, "h1 h2 h3");
    let root = caddy.root();
    let server = Server::start_with(&["--allow-private", "--cacert", root.to_str().unwrap()]);
    if !has_page(&server).await {
        return;
    }
    let mut options = options(&server);
    options.force_quic.push(format!("localhost:{}", caddy.port));
    options.accept.push(caddy.spki());
    with_browser(&options, async |page| {
        page.open(&server.page).await?;
        measure(&page, &caddy.url("/")).await?;
        assert_four_kinds_of_rows(&page, 0.0).await?;
        let arms = page.arms().await?;
        assert!(arms.iter().any(|arm| arm.starts_with("browser-h3")), "{arms:?}");
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_alone_starts_a_run() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    with_browser(&options(&server), async |page| {
        page.open(&server.page).await?;
        page.element("#url").await?.focus().await?;
        let keyboard = || page.driver.action_chain();
        keyboard()
            .key_down(Key::Control)
            .send_keys("a")
            .key_up(Key::Control)
            .perform()
            .await?;
        let url = format!("{}/t?delay=100ms", server.origin);
        keyboard().send_keys(&url).send_keys(Key::Enter).perform().await?;
        page.wait_for_state(&["running"]).await?;
        page.wait(
            "rows while samples land",
            "return document.querySelectorAll('table#phases tr[data-arm]').length >= 3",
        )
        .await?;
        page.click("#cancel").await?;
        page.wait(
            "the form to be usable again",
            "return document.querySelector('#start') !== null && !document.querySelector('#url').disabled",
        )
        .await?;
        let words = page.element("#run-error").await?.text().await?;
        assert!(words.contains("cancelled"), "{words}");
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_stands_in_words_beside_its_field() {
    let server = Server::start_with(&[]);
    if !has_page(&server).await {
        return;
    }
    with_browser(&options(&server), async |page| {
        page.open(&server.page).await?;
        for (url, word) in [("ftp://localhost/", "http"), ("https://10.0.0.1/", "private")] {
            page.enter_url(url).await?;
            page.click("#start").await?;
            page.wait(
                &format!("what is wrong with {url}"),
                &format!(
                    "return [...document.querySelectorAll('[role=alert], #url-error')]\
                     .some(element => element.innerText.includes('{word}'))"
                ),
            )
            .await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protocol_that_fails_is_shown_with_its_share_and_the_others_with_their_times() {
    let Some(program) = need("caddy") else { return };
    let caddy = Caddy::start(&program, "h1 h2");
    let root = caddy.root();
    let server = Server::start_with(&["--allow-private", "--cacert", root.to_str().unwrap()]);
    if !has_page(&server).await {
        return;
    }
    let mut options = options(&server);
    options.accept.push(caddy.spki());
    with_browser(&options, async |page| {
        page.open(&server.page).await?;
        measure(&page, &caddy.url("/")).await?;
        assert!(cell_millis(&page, "h2-cold", "total").await? > 0.0);
        let failed = page.element("#failures").await?.text().await?;
        assert!(
            failed.contains("HTTP/3") && failed.contains("4 of 4") && failed.contains("refused"),
            "{failed}"
        );
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_narrow_page_does_not_scroll_sideways() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    let narrow = Options {
        window: Some((360, 740)),
        ..options(&server)
    };
    with_browser(&narrow, async |page| {
        page.open(&server.page).await?;
        assert_fits(&page, "the form").await?;
        measure(&page, &format!("{}/t", server.origin)).await?;
        assert_fits(&page, "the result").await?;
        page.click("#share-open").await?;
        page.element("#share-link").await?;
        assert_fits(&page, "the share panel").await
    })
    .await;
}

async fn assert_fits(page: &Page, what: &str) -> WebDriverResult<()> {
    let widths = page
        .script("const root = document.documentElement; return [root.scrollWidth, root.clientWidth]")
        .await?;
    let (scroll, client): (u32, u32) = serde_json::from_value(widths)?;
    assert_eq!(client, 360);
    if scroll > client {
        let wide = page
            .script_text(
                "return [...document.querySelectorAll('body *')]\
                 .filter(element => element.getBoundingClientRect().right > 361)\
                 .map(element => element.outerHTML.slice(0, 80)).slice(0, 10).join('\\n')",
            )
            .await?;
        panic!("{what} is {scroll} wide:\n{wide}");
    }
    Ok(())
}

/// The README's picture. Written only when `ROUNDTRIP_SCREENSHOT=1`, from a finished run of the product itself.
#[tokio::test(flavor = "multi_thread")]
async fn the_picture_of_the_readme_is_a_finished_result() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    with_browser(&options(&server), async |page| {
        page.open(&server.origin).await?;
        page.driver.set_window_rect(0, 0, 1280, 1800).await?;
        page.enter("#samples", "12").await?;
        page.enter_url(&format!("{}/t?delay=25ms&bytes=100k", server.origin))
            .await?;
        page.click("#start").await?;
        assert_eq!(page.wait_for_state(&["done", "error"]).await?, "done");
        // From the headline to the end of the phase table.
        page.script(
            "const top = document.querySelector('#headline').closest('section, .card').getBoundingClientRect().top;\
             window.scrollBy({ top: top - 16, behavior: 'instant' })",
        )
        .await?;
        let picture = page.driver.screenshot_as_png().await?;
        assert!(picture.starts_with(b"\x89PNG"));
        if std::env::var_os("ROUNDTRIP_SCREENSHOT").is_some_and(|wanted| wanted == "1") {
            let folder = workspace().join("docs");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("screenshot.png"), picture).unwrap();
        }
        Ok(())
    })
    .await;
}
