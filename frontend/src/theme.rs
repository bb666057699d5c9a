//! The chosen theme: the system's, or light or dark, kept by the browser and applied before the first paint by
//! `theme.js`.

/// What the user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// As the system says.
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// All, in the order shown.
    pub(crate) const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// The name in storage and in `html[data-theme]`.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The name for people.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::System => "Auto",
            Self::Light => "Light",
            Self::Dark => "Dark",
        }
    }

    /// From [`Theme::id`]; whatever else is the system's.
    pub(crate) fn from_id(id: Option<&str>) -> Self {
        Self::ALL
            .into_iter()
            .find(|theme| Some(theme.id()) == id)
            .unwrap_or(Self::System)
    }
}

const KEY: &str = "theme";

/// The theme that was chosen earlier.
pub(crate) fn chosen() -> Theme {
    let storage = gloo::utils::window().local_storage().ok().flatten();
    let stored = storage.and_then(|storage| storage.get_item(KEY).ok().flatten());
    Theme::from_id(stored.as_deref())
}

/// Applies a theme and keeps it. Where nothing can be kept the choice lasts as long as the page.
pub(crate) fn choose(theme: Theme) {
    let root = gloo::utils::document_element();
    let storage = gloo::utils::window().local_storage().ok().flatten();
    if theme == Theme::System {
        drop(root.remove_attribute("data-theme"));
        drop(storage.map(|storage| storage.remove_item(KEY)));
    } else {
        drop(root.set_attribute("data-theme", theme.id()));
        drop(storage.map(|storage| storage.set_item(KEY, theme.id())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_choice_is_the_systems() {
        assert_eq!(Theme::from_id(Some("dark")), Theme::Dark);
        assert_eq!(Theme::from_id(Some("neon")), Theme::System);
        assert_eq!(Theme::from_id(None), Theme::System);
    }
}
