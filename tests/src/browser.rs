//! A real Chromium with a profile of its own, driven through chromedriver.

use std::fmt;
use std::future::Future;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use thirtyfour::error::WebDriverResult;
use thirtyfour::prelude::*;
use thirtyfour::{LoggingPrefsLogLevel, WebDriverRunError};

use crate::ports::browser_slot;
use crate::process::Program;
use crate::programs::need;

/// Far longer than anything a page of these tests does.
const TOO_LONG: Duration = Duration::from_mins(1);

/// What a browser must know beside its defaults.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `host:port` to which HTTP/3 is used at once, without an advertisement.
    pub force_quic: Vec<String>,
    /// Certificates that are accepted, by the SHA-256 of their public keys in base64.
    pub accept: Vec<String>,
    /// Width and height of the window.
    pub window: Option<(u32, u32)>,
}

/// Opens a browser, runs `test` in it and closes it, also when the test fails. Skips visibly where there is no browser.
///
/// # Panics
/// When the browser cannot be started, or with the test.
pub async fn with_browser<F>(options: &Options, test: impl FnOnce(Page) -> F)
where
    F: Future<Output = WebDriverResult<()>>,
{
    let (Some(driver), Some(browser)) = (need("chromedriver"), need("chromium")) else {
        return;
    };
    let _slot = browser_slot().await;
    let profile = tempfile::tempdir().expect("a folder for the profile");
    let mut command = Command::new(driver);
    command.arg("--port=0");
    let mut chromedriver = Program::start(command);
    let port: u16 = chromedriver.wait_for(|line| {
        let (_, port) = line.split_once("started successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    let session = async {
        let mut capabilities = DesiredCapabilities::chrome();
        capabilities.set_binary(&browser.to_string_lossy())?;
        capabilities.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        for argument in arguments(options, &profile) {
            capabilities.add_arg(&argument)?;
        }
        if let Some((width, height)) = options.window {
            // Narrower than the least width of a real window, so it is set as a device's.
            let metrics = serde_json::json!({ "width": width, "height": height, "pixelRatio": 1.0 });
            let emulation = serde_json::json!({ "deviceMetrics": metrics });
            capabilities.set_browser_option("mobileEmulation", emulation)?;
        }
        WebDriver::new(format!("http://127.0.0.1:{port}"), capabilities).await
    }
    .await
    .unwrap_or_else(|error| panic!("no browser: {error}\n{}", chromedriver.said()));
    let outcome = session.run_and_quit(|driver| test(Page { driver })).await;
    match outcome {
        // A browser that does not close in order is ended with its driver; the test itself has passed.
        Ok(()) | Err(WebDriverRunError::Cleanup(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

fn arguments(options: &Options, profile: &TempDir) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("--user-data-dir={}", profile.path().display()));
    if !options.force_quic.is_empty() {
        arguments.push(format!(
            "--origin-to-force-quic-on={}",
            options.force_quic.join(",")
        ));
    }
    if !options.accept.is_empty() {
        arguments.push(format!(
            "--ignore-certificate-errors-spki-list={}",
            options.accept.join(",")
        ));
    }
    arguments
}

/// The page in a browser, by the names of its elements.
#[derive(Clone)]
pub struct Page {
    /// The session, for what has no name here.
    pub driver: WebDriver,
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Page")
    }
}

impl Page {
    /// Opens a URL and waits until the page has started.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn open(&self, url: &str) -> WebDriverResult<()> {
        self.driver.goto(url).await?;
        self.wait(
            "the page to start",
            "return !['loading', null].includes(document.body.getAttribute('data-state'))",
        )
        .await
    }

    /// What a script gives.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn script(&self, script: &str) -> WebDriverResult<Value> {
        let result = self.driver.execute(script, Vec::new()).await?;
        Ok(result.json().clone())
    }

    /// What a script gives, as text.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn script_text(&self, script: &str) -> WebDriverResult<String> {
        let value = self.script(script).await?;
        Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// Waits until a script gives `true`.
    ///
    /// # Errors
    /// When the browser does not run the script.
    ///
    /// # Panics
    /// After a minute, with what the page shows.
    pub async fn wait(&self, what: &str, script: &str) -> WebDriverResult<()> {
        let deadline = Instant::now() + TOO_LONG;
        while self.script(script).await? != Value::Bool(true) {
            if Instant::now() > deadline {
                let state = self.state().await?;
                let text = self.script_text("return document.body.innerText").await?;
                let log = self.driver.browser_log().await?;
                panic!(
                    "waited too long for {what}; state {state:?}; console {log:?}; the page shows:\n{text}"
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Waits for one of these states of the page.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn wait_for_state(&self, states: &[&str]) -> WebDriverResult<String> {
        let wanted = serde_json::to_string(states)?;
        let script = format!("return {wanted}.includes(document.body.getAttribute('data-state'))");
        self.wait(&format!("the state {}", states.join(" or ")), &script)
            .await?;
        self.state().await
    }

    /// The page's state.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn state(&self) -> WebDriverResult<String> {
        self.script_text("return document.body.getAttribute('data-state')")
            .await
    }

    /// An element by CSS selector, waited for.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn element(&self, css: &str) -> WebDriverResult<WebElement> {
        self.driver
            .query(By::Css(css))
            .wait(TOO_LONG, Duration::from_millis(50))
            .first()
            .await
    }

    /// Puts a URL into the form in place of the one that is there.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn enter_url(&self, url: &str) -> WebDriverResult<()> {
        self.enter("#url", url).await
    }

    /// Puts text into a field in place of what is there.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn enter(&self, css: &str, text: &str) -> WebDriverResult<()> {
        let field = self.element(css).await?;
        field.click().await?;
        field.send_keys(Key::Control + "a").await?;
        field.send_keys(text).await
    }

    /// Clicks.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn click(&self, css: &str) -> WebDriverResult<()> {
        let element = self.element(css).await?;
        element.scroll_into_view().await?;
        element.click().await
    }

    /// The whole phase table: one line for each row, cells separated by ` | `.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn table(&self) -> WebDriverResult<String> {
        self.script_text(
            "return [...document.querySelectorAll('table#phases tr')]\
             .map(row => [...row.cells].map(cell => cell.innerText.trim()).join(' | ')).join('\\n')",
        )
        .await
    }

    /// The ids of the arms that have a row in the phase table.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn arms(&self) -> WebDriverResult<Vec<String>> {
        let ids = self
            .script(
                "return [...document.querySelectorAll('table#phases tr[data-arm]')]\
                 .map(row => row.getAttribute('data-arm'))",
            )
            .await?;
        Ok(serde_json::from_value(ids)?)
    }

    /// A cell of the phase table, as text.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn cell(&self, arm: &str, phase: &str) -> WebDriverResult<String> {
        let css = format!("table#phases tr[data-arm=\"{arm}\"] td[data-phase=\"{phase}\"]");
        self.element(&css).await?.text().await
    }

    /// Errors of the console, such as a violated content security policy.
    ///
    /// # Errors
    /// When the browser does not do it.
    pub async fn console_errors(&self) -> WebDriverResult<Vec<String>> {
        let log = self.driver.browser_log().await?;
        let errors = log.into_iter().filter(|entry| entry.level == "SEVERE");
        Ok(errors.map(|entry| entry.message).collect())
    }
}
