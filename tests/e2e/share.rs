//! A result shared: the link, the stored link, what is taken out, and what a broken link says.

use serde_json::Value;
use tests::browser::{Page, with_browser};
use tests::checks::assert_coherent;
use tests::server::Server;
use thirtyfour::By;
use thirtyfour::error::WebDriverResult;

use crate::page::{has_page, measure, options};

/// Opens the share panel and gives the link that holds the result.
async fn fragment_link(page: &Page) -> WebDriverResult<String> {
    page.click("#share-open").await?;
    page.wait(
        "the link",
        "return (document.querySelector('#share-link')?.value ?? '').includes('#1.')",
    )
    .await?;
    page.script_text("return document.querySelector('#share-link').value")
        .await
}

/// Makes a result, then hands its page to `share`, which gives a link.
async fn shared_by(
    server: &Server,
    path: &str,
    share: impl AsyncFnOnce(&Page) -> WebDriverResult<String>,
) -> Option<Shared> {
    let mut shared = None;
    with_browser(&options(server), async |page| {
        page.open(&server.origin).await?;
        measure(&page, &format!("{}{path}", server.origin)).await?;
        let (table, headline) = (
            page.table().await?,
            page.element("#headline").await?.text().await?,
        );
        assert!(table.lines().count() > 4, "{table}");
        let link = share(&page).await?;
        shared = Some(Shared {
            link,
            table,
            headline,
        });
        Ok(())
    })
    .await;
    shared
}

/// What a colleague gets, and what the sender saw.
struct Shared {
    link: String,
    table: String,
    headline: String,
}

impl Shared {
    /// Opens the link in a browser that has never been here, and compares every figure of the table.
    async fn assert_opens_in_a_new_profile(&self, server: &Server) {
        with_browser(&options(server), async |page| {
            page.open(&self.link).await?;
            assert_eq!(page.wait_for_state(&["shared", "error"]).await?, "shared");
            assert_eq!(page.table().await?, self.table);
            assert_eq!(page.element("#headline").await?.text().await?, self.headline);
            let requests = page
                .script("return performance.getEntriesByType('resource').filter(e => e.name.includes('/t?') || e.name.includes('/runs')).length")
                .await?;
            assert_eq!(requests, Value::from(0), "nothing is run to show a shared result");
            assert!(page.driver.find_all(By::Css("#start")).await?.is_empty(), "it is read-only");
            assert_eq!(page.console_errors().await?, [] as [String; 0]);
            Ok(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_link_shows_the_same_figures_in_a_new_profile() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    let shared = shared_by(&server, "/t?delay=5ms&bytes=3000", async |page| {
        fragment_link(page).await
    })
    .await;
    let Some(shared) = shared else { return };
    assert!(
        shared.link.starts_with(&format!("{}/r#1.", server.origin)),
        "{}",
        shared.link
    );
    // 300 kB would be no link: it is what a few dozen samples make.
    assert!(shared.link.len() < 8000, "{} characters", shared.link.len());
    shared.assert_opens_in_a_new_profile(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_link_shows_the_same_figures_until_it_is_deleted() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    let mut token = String::new();
    let shared = shared_by(&server, "/t?delay=5ms", async |page| {
        page.click("#share-open").await?;
        page.click("#store").await?;
        token = page.element("#delete-token").await?.text().await?;
        let link = page.element("#stored-link").await?;
        Ok(link.attr("href").await?.unwrap_or_default())
    })
    .await;
    let Some(shared) = shared else { return };
    shared.assert_opens_in_a_new_profile(&server).await;

    let id = shared.link.rsplit('/').next().unwrap();
    let path = format!("/api/v1/results/{id}");
    assert_coherent(&server.client().get(&path).await.text());
    let bearer = format!("Bearer {token}");
    let deleted = server
        .client()
        .send(http::Method::DELETE, &path, &[("authorization", &bearer)], None)
        .await;
    assert_eq!(deleted.status, http::StatusCode::NO_CONTENT, "{}", deleted.text());
    with_browser(&options(&server), async |page| {
        page.open(&shared.link).await?;
        assert_eq!(page.wait_for_state(&["shared", "error"]).await?, "error");
        let words = page.element("[role=alert]").await?.text().await?;
        assert!(words.contains("deleted"), "{words}");
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_deletes_what_it_stored() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    let shared = shared_by(&server, "/t", async |page| {
        page.click("#share-open").await?;
        page.click("#store").await?;
        let link = page
            .element("#stored-link")
            .await?
            .attr("href")
            .await?
            .unwrap_or_default();
        page.click("#delete").await?;
        page.wait(
            "the deletion",
            "return document.querySelector('#stored-link') === null",
        )
        .await?;
        Ok(link)
    })
    .await;
    let Some(shared) = shared else { return };
    let id = shared.link.rsplit('/').next().unwrap();
    let read = server.client().get(&format!("/api/v1/results/{id}")).await;
    assert_eq!(read.status, http::StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_the_url_are_in_no_link() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    let secret = "s3cr3t-t0ken-9f8e7d";
    let mut said = String::new();
    let shared = shared_by(&server, &format!("/?token={secret}"), async |page| {
        let link = fragment_link(page).await?;
        said = page.element("#share-removed").await?.text().await?;
        Ok(link)
    })
    .await;
    let Some(shared) = shared else { return };
    assert!(
        said.to_lowercase().contains("query"),
        "the page says what it removed: {said:?}"
    );
    let text = inflated(&shared.link);
    assert!(
        text.contains("\"url\":\"https://"),
        "the decoded document holds the rest of the URL: {text}"
    );
    // The probed host is one of this machine: its name is nobody's business either.
    assert!(
        !text.contains("localhost") && !text.contains("127.0.0.1"),
        "{text}"
    );
    assert!(!text.contains(secret), "the decoded document holds the secret");
}

/// The document inside a link, as the text it was compressed from.
fn inflated(link: &str) -> String {
    let (_, fragment) = link.split_once('#').unwrap();
    let compressed = shared::document::link::compressed_from_fragment(fragment).unwrap();
    let mut text = Vec::new();
    let mut decoder = flate2::read::DeflateDecoder::new(compressed.as_slice());
    std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_links_say_so_in_words() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    let shared = shared_by(&server, "/t", async |page| fragment_link(page).await).await;
    let Some(shared) = shared else { return };
    let (start, data) = shared.link.split_at(shared.link.find("#1.").unwrap() + 3);
    let half = &data[..data.len() / 2];
    let mut flipped = data.to_owned();
    let middle = flipped.len() / 2;
    let other = if flipped.as_bytes()[middle] == b'A' {
        "B"
    } else {
        "A"
    };
    flipped.replace_range(middle..=middle, other);
    let bomb = bomb();
    with_browser(&options(&server), async |page| {
        for (what, broken) in [
            ("cut", half),
            ("altered", flipped.as_str()),
            ("not base64", "!!!"),
            ("empty", ""),
            ("no deflate", "AAAAAAAA"),
            ("a bomb", bomb.as_str()),
        ] {
            // The same document with another fragment would not load anew.
            page.driver.goto("about:blank").await?;
            page.open(&format!("{start}{broken}")).await?;
            page.wait_for_state(&["shared", "error"]).await?;
            assert_eq!(page.state().await?, "error", "{what}");
            let words = page
                .script_text("return document.querySelector('main').innerText")
                .await?;
            assert!(words.split_whitespace().count() > 5, "{what}: {words}");
        }
        Ok(())
    })
    .await;
}

/// 100 MB of blanks in 100 kB.
fn bomb() -> String {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    let blanks = vec![b' '; 1_000_000];
    for _ in 0..100 {
        std::io::Write::write_all(&mut encoder, &blanks).unwrap();
    }
    let compressed = encoder.finish().unwrap();
    let fragment = shared::document::link::fragment(&compressed);
    fragment
        .trim_start_matches('#')
        .trim_start_matches("1.")
        .to_owned()
}
