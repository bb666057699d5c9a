//! The page of Roundtrip: asks for a URL, follows the run, measures the browser side, shows and shares the result.

mod app;
mod browser;
mod client;
mod pages;
mod plot;
mod route;
mod state;
mod stream;
mod theme;
mod view;

fn main() {
    if let Some(root) = gloo::utils::document().get_element_by_id("app") {
        yew::Renderer::<app::App>::with_root(root).render();
    }
}
