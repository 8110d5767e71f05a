//! Repairs tool arguments of models whose meaning is clear, so that an error does not cost a call.
//! Pure.

use codeinfo_search::MAX_LIMIT;
use serde_json::{Value, json};

/// Drops `null` and empty text, parses numbers from text, and clamps them to their bounds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 32 bits")]
#[expect(clippy::cast_precision_loss, reason = "20 is exact")]
pub(super) fn mend_arguments(arguments: &mut Value) {
    let Some(members) = arguments.as_object_mut() else { return };
    members.retain(|name, member| !member.is_null() && (member != "" || name == "query"));
    let max_line = f64::from(u32::MAX);
    for (name, max) in [("first", max_line), ("last", max_line), ("limit", MAX_LIMIT as f64)] {
        if let Some(member) = members.get_mut(name)
            && let Some(number) = member.as_f64().or_else(|| member.as_str()?.trim().parse().ok())
        {
            *member = json!(number.clamp(1.0, max) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_is_mended_and_the_rest_stays() {
        for (sent, taken) in [
            (json!({ "limit": "5" }), json!({ "limit": 5 })),
            (json!({ "limit": " 500 " }), json!({ "limit": 20 })),
            (json!({ "limit": 3.0, "first": "-4" }), json!({ "limit": 3, "first": 1 })),
            (json!({ "limit": null, "repository": null, "query": "a" }), json!({ "query": "a" })),
            (json!({ "repository": "", "query": "" }), json!({ "query": "" })),
            (json!({ "limit": "all" }), json!({ "limit": "all" })),
            (json!({ "limit": [5], "last": 1e99 }), json!({ "limit": [5], "last": u32::MAX })),
            (json!(null), json!(null)),
        ] {
            let mut arguments = sent.clone();
            mend_arguments(&mut arguments);
            assert_eq!(arguments, taken, "{sent}");
        }
    }
}
