//! Parses the `Accept` header.

/// Reply formats that a client accepts. No header, or `*/*`, means JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AcceptedFormats {
    Json,
    JsonAndEvents,
    EventsOnly,
    Neither,
}

impl AcceptedFormats {
    pub(super) fn parse_header(header: Option<&str>) -> Self {
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
    use super::AcceptedFormats;

    #[test]
    fn every_form_of_accept_is_understood() {
        for (header, expected) in [
            (None, AcceptedFormats::Json),
            (Some(""), AcceptedFormats::Json),
            (Some("*/*"), AcceptedFormats::Json),
            (Some("application/json"), AcceptedFormats::Json),
            (Some("application/json, text/event-stream"), AcceptedFormats::JsonAndEvents),
            (Some("Text/Event-Stream ;q=0.5, application/*"), AcceptedFormats::JsonAndEvents),
            (Some("text/event-stream, */*"), AcceptedFormats::JsonAndEvents),
            (Some("text/event-stream"), AcceptedFormats::EventsOnly),
            (Some("application/json;q=0, text/event-stream"), AcceptedFormats::EventsOnly),
            (Some("text/html"), AcceptedFormats::Neither),
            (Some("application/json; q=0.0"), AcceptedFormats::Neither),
        ] {
            assert_eq!(AcceptedFormats::parse_header(header), expected, "{header:?}");
        }
    }
}
