//! The script of a role: one shell for all its commands, with what plugins run before and after them.

use super::secrets::Secrets;
use crate::{spec::Command, template};

/// As OpenPAI's runtime begins every script (hazard H4).
const OPTIONS: &str = "set -o errexit -o nounset -o pipefail";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// By its name in our spec.
    Secret(String),
}

/// Text of a shell script in which some places are secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script(Vec<Piece>);

impl Script {
    pub fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            Some(Piece::Secret(_)) | None => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    pub fn push(&mut self, piece: Piece, secrets: &Secrets<'_>) {
        if let (Piece::Secret(_), Some(Piece::Text(last))) = (&piece, self.0.last_mut()) {
            let kept = last.trim_end_matches('\\').len();
            let backslashes = last.len() - kept;
            last.truncate(kept);
            self.0.extend((0..backslashes).map(|_| secrets.backslash()));
        }
        match piece {
            Piece::Text(text) => self.text(&text),
            Piece::Secret(_) => self.0.push(piece),
        }
    }

    pub fn append(&mut self, other: &Script, secrets: &Secrets<'_>) {
        other.0.iter().for_each(|piece| self.push(piece.clone(), secrets));
    }

    pub fn then_line(mut self, line: Script) -> Script {
        self.text("\n");
        self.0.extend(line.0);
        self
    }

    /// The text, for where nothing can be secret.
    pub fn plain(&self) -> String {
        self.0.iter().filter_map(|piece| if let Piece::Text(text) = piece { Some(text.as_str()) } else { None }).collect()
    }

    /// Roughly; for bounds.
    pub fn bytes(&self) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Secret(name) => name.len(),
        };
        self.0.iter().map(bytes).sum()
    }

    /// As our spec has it. What only looks like a reference of ours is kept from being one.
    fn into_template(self) -> String {
        let shown = |piece: Piece| match piece {
            Piece::Text(text) => template::escaped(&text),
            Piece::Secret(name) => format!("{{{{ secrets.{name} }}}}"),
        };
        self.0.into_iter().map(shown).collect()
    }

    pub fn into_command(self) -> Command {
        Command::Words(vec!["/bin/bash".into(), "-c".into(), self.into_template()])
    }
}

/// What one plugin runs in a task of a role.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub before: Option<Script>,
    /// Only once the commands have ended well.
    pub after: Option<Script>,
    /// Whether the task goes on when one of its commands fails.
    pub failure_is_fine: bool,
}

/// Each plugin has a shell of its own, so nothing it sets is seen by the others.
pub(super) fn composed(commands: &Script, steps: &[Step], secrets: &Secrets<'_>) -> Script {
    let mut script = Script::default();
    script.text(OPTIONS);
    script.text("\n");
    for step in steps {
        add_step(&mut script, step.before.as_ref(), step.failure_is_fine, secrets);
    }
    if steps.iter().all(|step| step.after.is_none()) {
        script.append(commands, secrets);
        return script;
    }
    // The commands may end their shell with `exit 0`, and what comes after a success must still come.
    script.text("(\n");
    script.append(commands, secrets);
    script.text("\n)\n");
    for step in steps.iter().rev() {
        add_step(&mut script, step.after.as_ref(), step.failure_is_fine, secrets);
    }
    script
}

fn add_step(script: &mut Script, lines: Option<&Script>, failure_is_fine: bool, secrets: &Secrets<'_>) {
    let Some(lines) = lines else { return };
    script.text("(\nset +o nounset +o pipefail\n");
    if failure_is_fine {
        script.text("set +o errexit\n");
    }
    script.append(lines, secrets);
    script.text(if failure_is_fine { "\ntrue\n)\n" } else { "\n)\n" });
}
