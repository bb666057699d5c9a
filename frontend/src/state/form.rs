//! The form's fields as the user typed them, and the plan they make.

use shared::{Family, Plan, Protocol, Temperature};

/// The fields as they stand in the form. Numbers stay text, so that a half-typed one is not overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The URL.
    pub(crate) url: String,
    /// The protocols to force.
    pub(crate) protocols: Vec<Protocol>,
    /// New and reused connections.
    pub(crate) temperatures: Vec<Temperature>,
    /// The IP version.
    pub(crate) family: Family,
    /// Connections for each protocol.
    pub(crate) samples: String,
    /// Further requests on each connection.
    pub(crate) warm_requests: String,
    /// Requests of the browser side.
    pub(crate) browser_samples: String,
    /// `accept-encoding`; empty sends none.
    pub(crate) accept_encoding: String,
    /// Time for one exchange, in seconds.
    pub(crate) max_time_s: String,
    /// Go on when the certificate is not accepted.
    pub(crate) insecure: bool,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            url: String::new(),
            protocols: Protocol::ALL.to_vec(),
            temperatures: TEMPERATURES.to_vec(),
            family: Family::Auto,
            samples: Plan::DEFAULT_SAMPLES.to_string(),
            warm_requests: Plan::DEFAULT_WARM_REQUESTS.to_string(),
            browser_samples: DEFAULT_BROWSER_SAMPLES.to_string(),
            accept_encoding: String::new(),
            max_time_s: (Plan::DEFAULT_MAX_TIME_MS / 1000).to_string(),
            insecure: false,
        }
    }
}

/// Both, in the order shown.
const TEMPERATURES: [Temperature; 2] = [Temperature::Cold, Temperature::Warm];

/// Enough for a browser to learn of HTTP/3, connect in the background and use it several times.
const DEFAULT_BROWSER_SAMPLES: u32 = 10;

/// A change of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// The URL.
    Url(String),
    /// A protocol is wanted, or not.
    Protocol(Protocol, bool),
    /// A temperature is wanted, or not.
    Temperature(Temperature, bool),
    /// The IP version.
    Family(Family),
    /// Connections for each protocol.
    Samples(String),
    /// Further requests on each connection.
    WarmRequests(String),
    /// Requests of the browser side.
    BrowserSamples(String),
    /// `accept-encoding`.
    AcceptEncoding(String),
    /// Time for one exchange, in seconds.
    MaxTime(String),
    /// Go on when the certificate is not accepted.
    Insecure(bool),
}

/// What is wrong with a field, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// The field of [`Plan`]; empty when no single one is at fault.
    pub(crate) field: String,
    /// What is wrong, or what is allowed.
    pub(crate) message: String,
}

impl Form {
    /// Changes one field.
    pub(crate) fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Url(url) => self.url = url,
            Edit::Protocol(protocol, wanted) => toggle(&mut self.protocols, &Protocol::ALL, protocol, wanted),
            Edit::Temperature(temperature, wanted) => {
                toggle(&mut self.temperatures, &TEMPERATURES, temperature, wanted);
            }
            Edit::Family(family) => self.family = family,
            Edit::Samples(text) => self.samples = text,
            Edit::WarmRequests(text) => self.warm_requests = text,
            Edit::BrowserSamples(text) => self.browser_samples = text,
            Edit::AcceptEncoding(text) => self.accept_encoding = text,
            Edit::MaxTime(text) => self.max_time_s = text,
            Edit::Insecure(insecure) => self.insecure = insecure,
        }
    }

    /// The plan the fields make.
    ///
    /// # Errors
    /// The first field that cannot be understood or is out of its limits.
    pub(crate) fn plan(&self, seed: u64) -> Result<Plan, FieldError> {
        let mut plan = Plan::new(absolute(&self.url));
        plan.protocols.clone_from(&self.protocols);
        plan.temperatures.clone_from(&self.temperatures);
        plan.family = self.family;
        plan.samples = number("samples", &self.samples)?;
        plan.warm_requests = number("warm_requests", &self.warm_requests)?;
        plan.browser_samples = number("browser_samples", &self.browser_samples)?;
        plan.max_time_ms = u64::from(number("max_time_ms", &self.max_time_s)?) * 1000;
        plan.accept_encoding = Some(self.accept_encoding.clone()).filter(|value| !value.is_empty());
        plan.insecure = self.insecure;
        plan.seed = seed;
        if self.url.trim().is_empty() {
            return Err(FieldError {
                field: "url".into(),
                message: "enter the URL to measure".into(),
            });
        }
        plan.validate().map_err(|error| FieldError {
            field: error.field.into(),
            message: error.message,
        })?;
        Ok(plan)
    }
}

/// `chosen` with or without `item`, in the order of `all`, which is the order shown.
fn toggle<T: PartialEq + Copy>(chosen: &mut Vec<T>, all: &[T], item: T, wanted: bool) {
    let next = all.iter().copied().filter(|known| {
        if *known == item {
            wanted
        } else {
            chosen.contains(known)
        }
    });
    *chosen = next.collect();
}

/// What was typed, with `https://` in front when it names a host only.
fn absolute(typed: &str) -> String {
    let typed = typed.trim();
    if typed.is_empty() || typed.contains("://") {
        typed.to_owned()
    } else {
        ["https://", typed].concat()
    }
}

fn number(field: &str, typed: &str) -> Result<u32, FieldError> {
    typed.trim().parse().map_err(|_| FieldError {
        field: field.into(),
        message: "enter a whole number".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(url: &str) -> Form {
        Form {
            url: url.into(),
            ..Form::default()
        }
    }

    #[test]
    fn a_bare_host_means_https() {
        assert_eq!(
            form(" example.org/a ").plan(1).unwrap().url,
            "https://example.org/a"
        );
        assert_eq!(
            form("http://example.org").plan(1).unwrap().url,
            "http://example.org"
        );
    }

    #[test]
    fn errors_name_the_field_they_stand_beside() {
        assert_eq!(form("").plan(1).unwrap_err().field, "url");
        assert_eq!(form("ftp://a").plan(1).unwrap_err().field, "url");
        for (edit, field) in [
            (Edit::Samples("many".into()), "samples"),
            (Edit::Samples("0".into()), "samples"),
            (Edit::MaxTime("0".into()), "max_time_ms"),
            (Edit::BrowserSamples("9999".into()), "browser_samples"),
        ] {
            let mut form = form("https://a/");
            form.edit(edit);
            assert_eq!(form.plan(1).unwrap_err().field, field);
        }
    }

    #[test]
    fn protocols_keep_their_order_and_one_is_needed() {
        let mut form = form("https://a/");
        form.edit(Edit::Protocol(Protocol::H1, false));
        form.edit(Edit::Protocol(Protocol::H3, false));
        form.edit(Edit::Protocol(Protocol::H1, true));
        assert_eq!(form.plan(1).unwrap().protocols, [Protocol::H1, Protocol::H2]);
        form.edit(Edit::Protocol(Protocol::H1, false));
        form.edit(Edit::Protocol(Protocol::H2, false));
        assert_eq!(form.plan(1).unwrap_err().field, "protocols");
    }
}
