//! What became of a job file of another dialect, told line by line.

use model::{
    dialect::{Fate, Note, Report, title},
    wire::ProblemView,
};

use super::{
    failure::{Exit, Failure},
    output, style,
    terminal::plain,
};

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ReportArgs {
    /// Refuse a file of another system if anything in it would be ignored
    #[arg(long)]
    pub strict: bool,
    /// Tell what became of every field of another system's file, not only of those that changed
    #[arg(long = "report", short = 'v', visible_alias = "verbose")]
    pub every_field: bool,
}

/// Refuses the file if it must be, and else says on standard error what became of it.
pub fn tell(file: &str, report: &Report, args: ReportArgs, json: bool) -> Result<(), Failure> {
    if args.strict && report.ignored().next().is_some() {
        return Err(refusal(file, report));
    }
    // A JSON answer has the report inside.
    if !json && !report.dialect.is_empty() {
        output::note(told(file, report, args.every_field).trim_end());
    }
    Ok(())
}

fn refusal(file: &str, report: &Report) -> Failure {
    let view = |note: &Note| ProblemView {
        path: note.path.clone(),
        line: note.line,
        column: note.column,
        message: format!("is ignored: {}", note.reason),
        hint: None,
    };
    let problems: Vec<ProblemView> = report.ignored().map(view).collect();
    let fields = if problems.len() == 1 { "a field that is".into() } else { format!("{} fields that are", problems.len()) };
    let mut failure = Failure::new(Exit::You, "strict", format!("{file} has {fields} ignored, and --strict refuses that"));
    failure.body.problems = problems;
    failure.file = Some(file.to_owned());
    failure
}

fn told(file: &str, report: &Report, every_field: bool) -> String {
    let kind = title(&report.dialect).unwrap_or(&report.dialect);
    let count = |fate| report.count(fate);
    let (kept, changed, ignored) = (count(Fate::Kept), count(Fate::Changed), count(Fate::Ignored));
    let mut text = format!("{}: {kind}; {kept} kept, {changed} changed, {ignored} ignored\n", plain(file));
    for note in report.notes.iter().filter(|note| every_field || note.fate != Fate::Kept) {
        text.push_str(&line(file, note));
    }
    text
}

fn line(file: &str, note: &Note) -> String {
    let (style, fate) = match note.fate {
        Fate::Kept => (style::QUIET, "kept"),
        Fate::Changed => (style::LOUD, "changed"),
        Fate::Ignored => (style::BAD, "ignored"),
    };
    let place = format!("{file}:{}:{}", note.line, note.column);
    format!("  {} {}: {}: {}\n", style::paint(style, &format!("{fate:<7}")), plain(&place), plain(&note.path), plain(&note.reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let note = |path: &str, line, fate, reason: &str| Note { path: path.into(), line, column: 3, fate, reason: reason.into() };
        Report {
            dialect: "unknown_dialect".into(),
            notes: vec![
                note("worker.number", 2, Fate::Kept, "roles.worker.tasks"),
                note("worker.port", 3, Fate::Changed, "a free port is given"),
                note("persistence", 9, Fate::Ignored, "there are no claims here"),
            ],
        }
    }

    #[test]
    fn what_changed_is_told_and_the_rest_is_counted() {
        let shown = |all| anstream::adapter::strip_str(&told("values.yaml", &report(), all)).to_string();
        insta::assert_snapshot!(shown(false), @"
        values.yaml: unknown_dialect; 1 kept, 1 changed, 1 ignored
          changed values.yaml:3:3: worker.port: a free port is given
          ignored values.yaml:9:3: persistence: there are no claims here
        ");
        assert!(shown(true).contains("kept    values.yaml:2:3: worker.number: roles.worker.tasks\n"), "{}", shown(true));
    }

    #[test]
    fn strict_refuses_what_would_be_ignored() {
        let strict = ReportArgs { strict: true, every_field: false };
        let failure = tell("values.yaml", &report(), strict, false).unwrap_err();
        assert_eq!((failure.exit, failure.body.problems.len()), (Exit::You, 1));
        assert_eq!(failure.body.message, "values.yaml has a field that is ignored, and --strict refuses that");
        assert_eq!(failure.body.problems[0].message, "is ignored: there are no claims here");
        assert!(tell("job.yaml", &Report::default(), strict, false).is_ok());
    }
}
