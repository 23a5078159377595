//! What became of a job file of another dialect, told line by line.

use model::{
    dialect::{Fate, Note, Report, title},
    located::Place,
    said,
    spec::Problem,
    wire::ProblemView,
    words::{Lang, Words},
};

use super::{
    failure::{Exit, Failure},
    language::LangArgs,
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
    #[command(flatten)]
    pub language: LangArgs,
}

/// Refuses the file if it must be, and else says on standard error what became of it.
pub fn tell(file: &str, report: &Report, args: ReportArgs, json: bool) -> Result<(), Failure> {
    if args.strict && report.ignored().next().is_some() {
        return Err(refusal(file, report));
    }
    // A JSON answer has the report inside.
    if !json && !report.dialect.is_empty() {
        output::note(told(file, report, args.every_field, args.language.lang()).trim_end());
    }
    Ok(())
}

fn refusal(file: &str, report: &Report) -> Failure {
    let problem = |note: &Note| {
        let why = note.words();
        let ignored = Words::new(format!("is ignored: {}", why.en), format!("会被忽略：{}", why.say(Lang::Zh)));
        ProblemView::from(&Problem::new(note.path.as_str(), ignored).at(Place { line: note.line, column: note.column }))
    };
    let problems: Vec<ProblemView> = report.ignored().map(problem).collect();
    let count = problems.len();
    let fields = if count == 1 { "a field that is".into() } else { format!("{count} fields that are") };
    let mut failure = Failure::new(
        Exit::You,
        "strict",
        said!("{file} has {fields} ignored, and --strict refuses that", "{file} 有 {count} 个字段会被忽略，而 --strict 不允许"),
    );
    failure.body.problems = problems;
    failure.file = Some(file.to_owned());
    failure
}

fn told(file: &str, report: &Report, every_field: bool, lang: Lang) -> String {
    let kind = title(&report.dialect).unwrap_or(&report.dialect);
    let count = |fate| report.count(fate);
    let (kept, changed, ignored) = (count(Fate::Kept), count(Fate::Changed), count(Fate::Ignored));
    let counts = Words::new(
        format!(": {kind}; {kept} kept, {changed} changed, {ignored} ignored"),
        format!("：{kind}；保留 {kept} 项，转换 {changed} 项，忽略 {ignored} 项"),
    );
    let mut text = format!("{}{}\n", plain(file), counts.say(lang));
    for note in report.notes.iter().filter(|note| every_field || note.fate != Fate::Kept) {
        text.push_str(&line(file, note, lang));
    }
    text
}

fn line(file: &str, note: &Note, lang: Lang) -> String {
    let (style, fate) = match note.fate {
        Fate::Kept => (style::QUIET, Words::new("kept   ", "保留")),
        Fate::Changed => (style::LOUD, Words::new("changed", "转换")),
        Fate::Ignored => (style::BAD, Words::new("ignored", "忽略")),
    };
    let place = format!("{file}:{}:{}", note.line, note.column);
    format!("  {} {}: {}: {}\n", style::paint(style, fate.say(lang)), plain(&place), plain(&note.path), plain(note.words().say(lang)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let note = |path: &str, line, fate, (reason, zh): (&str, &str)| {
            let (path, reason, reason_zh) = (path.into(), reason.into(), zh.into());
            Note { path, line, column: 3, fate, reason, reason_zh }
        };
        Report {
            dialect: "unknown_dialect".into(),
            notes: vec![
                note("worker.number", 2, Fate::Kept, ("roles.worker.tasks", "")),
                note("worker.port", 3, Fate::Changed, ("a free port is given", "改用空闲端口")),
                note("persistence", 9, Fate::Ignored, ("there are no claims here", "这里没有存储声明")),
            ],
        }
    }

    #[test]
    fn what_changed_is_told_and_the_rest_is_counted() {
        let said = |all, lang| anstream::adapter::strip_str(&told("values.yaml", &report(), all, lang)).to_string();
        let shown = |all| said(all, Lang::En);
        insta::assert_snapshot!(shown(false), @"
        values.yaml: unknown_dialect; 1 kept, 1 changed, 1 ignored
          changed values.yaml:3:3: worker.port: a free port is given
          ignored values.yaml:9:3: persistence: there are no claims here
        ");
        assert!(shown(true).contains("kept    values.yaml:2:3: worker.number: roles.worker.tasks\n"), "{}", shown(true));
        insta::assert_snapshot!(said(true, Lang::Zh), @"
        values.yaml：unknown_dialect；保留 1 项，转换 1 项，忽略 1 项
          保留 values.yaml:2:3: worker.number: roles.worker.tasks
          转换 values.yaml:3:3: worker.port: 改用空闲端口
          忽略 values.yaml:9:3: persistence: 这里没有存储声明
        ");
    }

    #[test]
    fn strict_refuses_what_would_be_ignored() {
        let strict = ReportArgs { strict: true, ..ReportArgs::default() };
        let failure = tell("values.yaml", &report(), strict, false).unwrap_err();
        assert_eq!((failure.exit, failure.body.problems.len()), (Exit::You, 1));
        assert_eq!(failure.body.message, "values.yaml has a field that is ignored, and --strict refuses that");
        assert_eq!(failure.body.problems[0].message, "is ignored: there are no claims here");
        assert!(tell("job.yaml", &Report::default(), strict, false).is_ok());
    }
}
