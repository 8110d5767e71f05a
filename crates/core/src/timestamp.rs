//! Points in time with millisecond precision.

use std::{
    fmt,
    fs::Metadata,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize, Serializer};

/// Point in time since 1970, serialized as milliseconds since the Unix epoch and displayed in RFC
/// 3339 in UTC, such as `2026-11-20T08:05:09.120Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// Returns the current time.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Returns the milliseconds since the Unix epoch.
    pub fn as_milliseconds(self) -> u64 {
        self.0
    }

    /// Serializes the time as it is displayed, for clients.
    pub fn serialize_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }

    /// Returns the time since this point. Zero for a point in the future.
    pub fn age(self) -> Duration {
        SystemTime::now().duration_since(self.to_system_time()).unwrap_or_default()
    }

    /// Converts to a [`SystemTime`].
    pub fn to_system_time(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0)
    }
}

/// Converts a system time. Times before 1970 become the epoch.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = i64::try_from(self.0).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::MAX);
        write!(to, "{time:.3}")
    }
}

/// Returns when a file last changed, in nanoseconds since the Unix epoch, or 0 if unknown. On Unix,
/// the later time of content and metadata, because copying and unpacking may preserve the former.
pub fn modified_ns(metadata: &Metadata) -> u64 {
    let content = metadata.modified().map_or(0, nanoseconds_since_epoch);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let seconds = metadata.ctime();
        let changed = seconds.saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec());
        content.max(u64::try_from(changed).unwrap_or(0))
    }
    #[cfg(not(unix))]
    content
}

/// Returns the nanoseconds since the Unix epoch; 0 for times before it.
pub fn nanoseconds_since_epoch(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_displayed_in_utc_and_serialized_as_milliseconds() {
        let display = |ms: u64| {
            let time: Timestamp = serde_json::from_value(ms.into()).unwrap();
            assert_eq!(Timestamp::from(time.to_system_time()).as_milliseconds(), ms);
            time.to_string()
        };
        assert_eq!(display(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(display(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(display(1_795_161_909_120), "2026-11-20T08:05:09.120Z");
    }

    #[test]
    fn times_beyond_the_calendar_are_displayed_as_its_end() {
        assert_eq!(Timestamp(u64::MAX).to_string(), Timestamp(u64::MAX / 2).to_string());
    }

    #[test]
    fn future_times_have_no_age() {
        let ahead = Timestamp::from(SystemTime::now() + Duration::from_mins(1));
        assert_eq!(ahead.age(), Duration::ZERO);
        assert!(Timestamp(0).age() > Duration::from_secs(1 << 30));
    }
}
