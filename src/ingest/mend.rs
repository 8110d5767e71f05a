//! Repairs roots whose index was found damaged when the store was opened: a run of each, one by one.

use std::{sync::Arc, time::Duration};

use tracing::{info, warn};

use super::{Shared, error::IngestError, job, plan::Mode};
use crate::domain::Root;

/// How often a store is looked at that is not open yet.
const PAUSE: Duration = Duration::from_secs(1);

/// Repairs all of them, or as many as can be until the process stops.
pub(super) async fn mend(shared: Arc<Shared>) {
    let stopping = shared.tools.tasks.stopping().clone();
    let mending = async {
        while shared.tools.store.check_writes().is_err() {
            tokio::time::sleep(PAUSE).await;
        }
        let roots = match shared.tools.catalog.roots().await {
            Ok(roots) => roots,
            Err(error) => return warn!(%error, "roots to repair could not be read"),
        };
        let is_damaged = |root: &Root| root.last_error.as_deref() == Some(Root::DAMAGED);
        for root in roots.into_iter().filter(is_damaged) {
            info!(root.name = %root.name, "repairing what was damaged");
            if let Err(error) = repair(&shared, root).await {
                warn!(%error, "a damaged repository could not be repaired");
            }
        }
    };
    stopping.run_until_cancelled(mending).await;
}

/// Runs one root and waits for the end of that.
async fn repair(shared: &Shared, root: Root) -> Result<(), IngestError> {
    let root = Root { model_id: shared.tools.embedder.model().id(), last_error: None, ..root };
    let mut run = {
        let mut runs = shared.runs();
        let run = shared.admit(&mut runs, job(root, Mode::Changes))?;
        runs.watch(run)?
    };
    // The sender lives until the run has ended.
    drop(run.wait_for(|status| status.state.is_final()).await);
    Ok(())
}
