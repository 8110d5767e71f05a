//! Reads the `Accept` header.

/// Which kinds of reply a client takes. No header, or `*/*`, means JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepts {
    Json,
    JsonAndEvents,
    EventsOnly,
    Neither,
}

impl Accepts {
    pub(super) fn read(header: Option<&str>) -> Self {
        let Some(header) = header.filter(|text| !text.trim().is_empty()) else {
            return Self::Json;
        };
        let mut json = false;
        let mut events = false;
        for range in header.split(',').filter(|range| !is_refused(range)) {
            let kind = range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            json |= matches!(kind.as_str(), "application/json" | "application/*" | "*/*");
            events |= matches!(kind.as_str(), "text/event-stream" | "text/*");
        }
        match (json, events) {
            (true, true) => Self::JsonAndEvents,
            (true, false) => Self::Json,
            (false, true) => Self::EventsOnly,
            (false, false) => Self::Neither,
        }
    }
}

/// A weight of zero means "not this".
fn is_refused(range: &str) -> bool {
    let mut parameters = range.split(';').skip(1);
    parameters.any(|parameter| {
        let weight = parameter.trim().strip_prefix("q=").and_then(|text| text.parse::<f32>().ok());
        weight.is_some_and(|weight| weight <= 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::Accepts;

    #[test]
    fn every_form_of_accept_is_understood() {
        for (header, expected) in [
            (None, Accepts::Json),
            (Some(""), Accepts::Json),
            (Some("*/*"), Accepts::Json),
            (Some("application/json"), Accepts::Json),
            (Some("application/json, text/event-stream"), Accepts::JsonAndEvents),
            (Some("Text/Event-Stream ;q=0.5, application/*"), Accepts::JsonAndEvents),
            (Some("text/event-stream, */*"), Accepts::JsonAndEvents),
            (Some("text/event-stream"), Accepts::EventsOnly),
            (Some("application/json;q=0, text/event-stream"), Accepts::EventsOnly),
            (Some("text/html"), Accepts::Neither),
            (Some("application/json; q=0.0"), Accepts::Neither),
        ] {
            assert_eq!(Accepts::read(header), expected, "{header:?}");
        }
    }
}
