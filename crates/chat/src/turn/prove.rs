//! Checks a final answer: citations mechanically, and claims by a second reader. The model corrects mistakes once.

use std::time::Duration;

use codeinfo_citations::{Claim, LookupScope};
use codeinfo_codex::{EphemeralQuestion, EphemeralThread};
use futures_util::future::join;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};
use tracing::{debug, warn};
use uuid::Uuid;

use super::TurnRunner;
use crate::{
    event::{TokenUsage, TurnFailure},
    proof::AnswerCheck,
    reading::{JudgedClaims, ReadingRequest, reply_schema},
    turn::TurnProgress,
};

/// Maximum time for the correction of an answer.
const MAX_CORRECTION: Duration = Duration::from_mins(3);
/// Maximum time for the second reader; a reply of a few verdicts takes seconds.
const MAX_READING: Duration = Duration::from_secs(30);
/// Time of the turn reserved for its end after the second reader.
const READING_MARGIN: Duration = Duration::from_secs(1);
const READING_EFFORT: &str = "low";

pub(super) struct CheckedAnswer {
    /// Position among the segments.
    pub(super) place: usize,
    pub(super) proof: AnswerCheck,
    /// True if the caller has received the unchanged text.
    pub(super) is_reported: bool,
}

type ClaimReading = (Option<JudgedClaims>, Option<TokenUsage>);

impl TurnRunner<'_> {
    /// Has the model correct the answer once. Returns the better one, or `None` if it could not be checked.
    pub(super) async fn check_and_correct(
        &self,
        place: usize,
        text: String,
        progress: &mut TurnProgress,
        deadline: Instant,
    ) -> Option<CheckedAnswer> {
        let proof = self.check_answer(text, None, progress, deadline).await?;
        // A message followed by other events has already been reported.
        let is_reported = progress.pending_answer.take().is_none();
        let Some(request) = proof.build_correction_request() else {
            return Some(CheckedAnswer { place, proof, is_reported });
        };
        let all = progress.assembly.len();
        let until = deadline.min(Instant::now() + MAX_CORRECTION);
        let failure = self.ask_again(&request, progress, until).await;
        if let Some(failure) = &failure {
            warn!(conversation.id = %self.conversation, failure.message, "answer not corrected");
        }
        progress.pending_answer = None;
        let corrected = match progress.assembly.last_answer() {
            // The text of a failed turn may be incomplete.
            Some((other, text)) if failure.is_none() && other > place => {
                let corrected = self.check_answer(text, proof.claims(), progress, deadline).await;
                corrected.map(|corrected| (other, corrected))
            }
            _ => None,
        };
        let better = |(other, corrected): (usize, AnswerCheck)| {
            Some((other, corrected.if_better_than(&proof)?))
        };
        if let Some((other, proof)) = corrected.and_then(better) {
            // The messages between the two answers are about the correction.
            progress.assembly.forget_answers(place..other);
            let (place, _) = progress.assembly.last_answer()?;
            return Some(CheckedAnswer { place, proof, is_reported: false });
        }
        progress.assembly.truncate(all);
        Some(CheckedAnswer { place, proof, is_reported })
    }

    /// `former` has the claims of the answer that this one corrects.
    async fn check_answer(
        &self,
        text: String,
        former: Option<&JudgedClaims>,
        progress: &mut TurnProgress,
        deadline: Instant,
    ) -> Option<AnswerCheck> {
        let reader = self.begin_reading(&text, former);
        let (found, claims) = oneshot::channel();
        let found = self.reader.is_some().then_some(found);
        let scope =
            LookupScope { within: self.filter, read_paths: progress.assembly.shown_files() };
        let checking = self.chat.checker.check_text_with_claims(&text, &scope, found);
        let reading = self.read_claims(reader, claims, former, deadline);
        let checked = self.run_unless_stopped(deadline, join(checking, reading)).await;
        let Ok((report, (claims, usage))) = checked else { return None };
        if let Some(usage) = usage {
            progress.assembly.add_usage(usage);
        }
        match report {
            Ok(report) => Some(AnswerCheck::new(text, report, claims)),
            Err(error) => {
                warn!(conversation.id = %self.conversation, %error, "citations not checked");
                None
            }
        }
    }

    /// Returns `None` for a text without citations, and for the correction of an answer without contradictions.
    fn begin_reading(&self, text: &str, former: Option<&JudgedClaims>) -> Option<EphemeralThread> {
        let opening = self.reader.clone()?;
        let is_needed = match former {
            Some(former) => former.contradictions().next().is_some(),
            None => !codeinfo_citations::find_citations(text).is_empty(),
        };
        is_needed.then(|| self.chat.codex.open_ephemeral(opening))
    }

    /// Waits for the claims and has them read. Claims stay open on failure.
    async fn read_claims(
        &self,
        reader: Option<EphemeralThread>,
        found: oneshot::Receiver<Vec<Claim>>,
        former: Option<&JudgedClaims>,
        deadline: Instant,
    ) -> ClaimReading {
        let claims = found.await.unwrap_or_default();
        if claims.is_empty() {
            return (None, None);
        }
        let everything = (0..claims.len()).collect();
        let (mut judged, places) = match former {
            Some(former) => JudgedClaims::from_correction(former, claims),
            None => (JudgedClaims::new(claims), everything),
        };
        let key = Uuid::new_v4().simple().to_string();
        let request = ReadingRequest::build(judged.claims(), &places, &key);
        let (Some(reader), Some(request)) = (reader, request) else { return (Some(judged), None) };
        let (text, schema) = (request.text().to_owned(), reply_schema());
        debug!(conversation.id = %self.conversation, request.bytes = text.len(), "claims read");
        let asking =
            reader.ask_question(EphemeralQuestion { text, schema, effort: READING_EFFORT });
        let until = (Instant::now() + MAX_READING).min(deadline - READING_MARGIN);
        let reply = match timeout_at(until, asking).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => {
                warn!(conversation.id = %self.conversation, %error, "claims not read");
                return (Some(judged), None);
            }
            Err(_) => {
                warn!(conversation.id = %self.conversation, "claims not read in time");
                return (Some(judged), None);
            }
        };
        for (place, verdict) in request.parse_verdicts(&reply.text) {
            judged.set_verdict(place, verdict);
        }
        (Some(judged), reply.usage)
    }

    /// Asks the model in the same thread. Returns the failure, if any.
    async fn ask_again(
        &self,
        request: &str,
        progress: &mut TurnProgress,
        deadline: Instant,
    ) -> Option<TurnFailure> {
        let opening = async {
            let thread = self.chat.codex.open_thread(self.reopening.clone()).await?;
            thread.run_turn(request, self.effort.clone()).await
        };
        match opening.await {
            Ok(running) => self.follow_events(running, progress, deadline).await,
            Err(error) => Some(self.describe_start_failure(&error).await),
        }
    }
}
