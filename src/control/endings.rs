//! What the endings of this house are: our catalogue, and what its operator has added.

use std::{path::Path, sync::Arc};

use model::{
    clues::Clues,
    diagnose::{BadCatalogue, Catalogue, diagnose},
    order::Report,
    task::{Ending, TaskState},
};

/// Ours is read when the first failure asks for it: most servers start, and most tasks end, without one.
#[derive(Clone, Default)]
pub struct Endings {
    own: Option<Arc<Catalogue>>,
}

/// What a supervisor sends is small; what claims to be one may send anything.
const CLUES_BYTES_MAX: usize = 16 << 10;

impl Endings {
    /// With the entries of a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |why: String| format!("[catalogue] file {}: {why}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let catalogue = Catalogue::with(&text).map_err(|BadCatalogue(problems)| failed(format!("\n  {}", problems.join("\n  "))))?;
        Ok(Self { own: Some(Arc::new(catalogue)) })
    }

    pub fn catalogue(&self) -> &Catalogue {
        self.own.as_deref().unwrap_or_else(|| Catalogue::ours())
    }

    /// The report with what it means, if it tells of an end.
    pub fn understood(&self, report: Report) -> Report {
        match report {
            Report::Ended { ending } => Report::Ended { ending: self.of(ending) },
            Report::Kept { mut kept } => {
                kept.ending = self.of(kept.ending);
                Report::Kept { kept }
            }
            Report::Preparing { .. }
            | Report::Code { .. }
            | Report::Ready { .. }
            | Report::Started { .. }
            | Report::Spoke { .. }
            | Report::Syncing { .. }
            | Report::Synced { .. } => report,
        }
    }

    pub fn of(&self, mut ending: Ending) -> Ending {
        ending.clues = ending.clues.filter(|clues| is_small(clues));
        let succeeded = ending.cause.state() == TaskState::Succeeded;
        ending.diagnosis = if succeeded { None } else { diagnose(&ending, self.catalogue()).map(Box::new) };
        ending
    }
}

fn is_small(clues: &Clues) -> bool {
    serde_json::to_string(clues).is_ok_and(|text| text.len() <= CLUES_BYTES_MAX)
}
