//! What the run was made of, written down before the child begins: what nobody could say from the job alone.

use std::{fs, io, io::Write, path::Path};

use model::{
    code::CodePlan,
    location::Location,
    order::RunOrder,
    provenance::{Found, InputFound, PythonFound},
};

use super::{journal::say, stage::Ready};
use crate::{
    code::python,
    porter::{count, errand::Staged},
    rundir::{RunDir, new_private_file, packages_file, private_dir},
};

/// A run whose code and inputs say everything by their names leaves no file: a thousand short tasks should not make one each.
pub fn write_down(dir: &RunDir, ready: &Ready) {
    let Staged { inputs, code_content, .. } = &ready.fetched.staged;
    let python = ready.environment.as_deref().map(|place| python_of(dir, place));
    let (python, trouble) = python.transpose().map_or_else(|error| (None, Some(error)), |python| (python, None));
    let no_python = trouble.map(|error| format!("the list could not be written down: {error}"));
    let found = Found { code: code_content.clone(), inputs: inputs.clone(), python, no_python };
    if found.is_empty() {
        return;
    }
    let text = serde_json::to_vec(&found).expect("what was found is JSON");
    if let Err(error) = new_private_file(&dir.provenance()).and_then(|mut file| file.write_all(&text)) {
        say(&format!("what it was made of was not written down: {error}"));
    }
}

/// The list is kept once for everyone who has the same, or goes with the run if there is no place that others see.
fn python_of(dir: &RunDir, environment: &Path) -> io::Result<PythonFound> {
    let list = python::installed(environment)?;
    let fingerprint = python::fingerprint(&list);
    let Some(data) = dir.data() else { return Ok(PythonFound { fingerprint, list: Some(list) }) };
    let file = packages_file(data, &fingerprint);
    if !file.exists() {
        private_dir(file.parent().unwrap_or(data))?;
        let part = file.with_extension(format!("{}.part", std::process::id()));
        // Half a list of somebody who died.
        let _ = fs::remove_file(&part);
        new_private_file(&part)?.write_all(&serde_json::to_vec(&list)?)?;
        fs::rename(part, file)?;
    }
    Ok(PythonFound { fingerprint, list: None })
}

/// Looks at the directories that the child is shown as they are.
pub fn look(order: &RunOrder, staged: &mut Staged) {
    if let (Some(CodePlan::At(Location::Host(_))), Some(place)) = (&order.code, &staged.code) {
        staged.code_content = Some(count::content(place));
    }
    for input in &order.freight.inputs {
        let place = input.name.as_ref().map_or(staged.input.as_ref(), |name| staged.channels.get(name));
        let found = place.map(|place| InputFound { path: input.path(), from: input.from.without_query(), content: count::content(place) });
        staged.inputs.extend(found);
    }
}
