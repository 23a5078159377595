//! `trainmaster list`.

use model::{
    job::JobState,
    wire::{JobPage, JobSummary, ProgressOfJob},
};

use super::{
    context::{Context, query},
    failure::{Exit, Failure},
    output,
    people::{age, bar, label, now_ms, took},
    style,
    table::{Cell, Table},
};

const PAGE_LENGTH: u32 = 50;
/// Pages are larger when everything is read.
const ALL_PAGE_LENGTH: u32 = 500;

#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    /// Only jobs in these states, such as queued,running
    #[arg(long, short, value_name = "STATES", value_delimiter = ',', value_parser = super::people::parse_state)]
    pub state: Vec<JobState>,
    /// Only versions of this job
    #[arg(long)]
    pub name: Option<String>,
    /// Only jobs with this tag
    #[arg(long)]
    pub tag: Option<String>,
    /// Only jobs of this person
    #[arg(long)]
    pub owner: Option<String>,
    /// Only jobs with these words in name or description
    #[arg(long, short, value_name = "WORDS")]
    pub query: Option<String>,
    /// How many, newest first
    #[arg(long, short = 'n', default_value_t = PAGE_LENGTH, conflicts_with = "all", value_parser = clap::value_parser!(u32).range(1..=500))]
    pub limit: u32,
    /// Continue where an earlier answer's `next` says
    #[arg(long, conflicts_with = "all")]
    pub cursor: Option<String>,
    /// Every job there is
    #[arg(long, short)]
    pub all: bool,
    /// How far those that run are, as their tasks say themselves
    #[arg(long)]
    pub progress: bool,
}

pub async fn list(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    let mut page = read_page(context, args, args.cursor.clone()).await?;
    while let Some(cursor) = page.next.take().filter(|_| args.all) {
        let more = read_page(context, args, Some(cursor.clone())).await?;
        page.jobs.extend(more.jobs);
        // A cursor that stands still would read the same page for ever.
        page.next = more.next.filter(|next| *next != cursor);
    }
    if context.json {
        output::json(&page)?;
        return Ok(Exit::Done);
    }
    let progress: Option<Vec<ProgressOfJob>> = if args.progress { Some(context.get("/api/v1/progress").await?) } else { None };
    output::text(&table(&page.jobs, progress.as_deref(), now_ms()).render(output::width(), "REASON"))?;
    if page.next.is_some() {
        output::aside("there are more; `--all` shows every one");
    }
    Ok(Exit::Done)
}

async fn read_page(context: &Context, args: &ListArgs, cursor: Option<String>) -> Result<JobPage, Failure> {
    let limit = if args.all { ALL_PAGE_LENGTH } else { args.limit };
    let pairs = [
        ("state", (!args.state.is_empty()).then(|| args.state.iter().map(|state| state.text()).collect::<Vec<_>>().join(","))),
        ("name", args.name.clone()),
        ("tag", args.tag.clone()),
        ("owner", args.owner.clone()),
        ("q", args.query.clone()),
        ("cursor", cursor),
        ("limit", Some(limit.to_string())),
    ];
    context.get(&format!("/api/v1/jobs{}", query(&pairs))).await
}

fn table(jobs: &[JobSummary], progress: Option<&[ProgressOfJob]>, now_ms: u64) -> Table {
    let mut table = Table::new(["NAME", "STATE", "REASON", "AGE", "DURATION", "RESOURCES"]);
    for job in jobs {
        table.row([
            label(job).into(),
            Cell::styled(style::job(job.state), job.state.text()),
            job.reason.as_str().into(),
            age(job.created_at_ms, now_ms).into(),
            took(job.started_at_ms, job.ended_at_ms, now_ms).into(),
            job.resources.to_string().into(),
        ]);
    }
    if let Some(all) = progress {
        table.column("PROGRESS", jobs.iter().map(|job| how_far(all, &job.id).into()));
    }
    table
}

fn how_far(all: &[ProgressOfJob], job: &str) -> String {
    all.iter().find(|it| it.job == job).map_or("-".into(), |it| bar(it.progress.percent, it.progress.left_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::fake::{Fake, Turn, amount, job};

    #[test]
    fn jobs_are_a_table() {
        let waiting = JobSummary {
            reason: "needs 4 CPU, 2 are free".into(),
            started_at_ms: None,
            resources: amount(4, 16, &[("A100", 2)]),
            ..job("bert", JobState::Queued)
        };
        let jobs = [waiting, job("digits", JobState::Running), job("true", JobState::Succeeded)];
        let table = table(&jobs, None, 95_000).render(None, "REASON");
        insta::assert_snapshot!(anstream::adapter::strip_str(&table).to_string(), @"
        NAME      STATE      REASON                   AGE     DURATION  RESOURCES
        bert@3    queued     needs 4 CPU, 2 are free  1m 34s  -         4 CPU, 16GiB, 2 × A100
        digits@3  running    because                  1m 34s  1m 33s    2 CPU, 4GiB
        true@3    succeeded  because                  1m 34s  1.5s      2 CPU, 4GiB
        ");
    }

    #[test]
    fn an_empty_list_still_has_its_heads() {
        let table = table(&[], None, 0).render(Some(80), "REASON");
        insta::assert_snapshot!(anstream::adapter::strip_str(&table).to_string(), @"NAME  STATE  REASON  AGE  DURATION  RESOURCES");
    }

    fn args(all: bool) -> ListArgs {
        ListArgs {
            state: vec![JobState::Queued, JobState::Running],
            name: None,
            tag: Some("a b".into()),
            owner: None,
            query: None,
            limit: PAGE_LENGTH,
            cursor: None,
            all,
            progress: false,
        }
    }

    #[tokio::test]
    async fn all_means_page_after_page_until_there_is_no_next() {
        let page = |next: Option<&str>| Turn::Answer(200, serde_json::json!({ "jobs": [], "next": next }).to_string());
        let fake = Fake::new(vec![page(Some("c1")), page(Some("c2")), page(None)]).await;
        list(&fake.context, &args(true)).await.unwrap();
        let asked: Vec<String> = fake.requests().iter().map(|it| it.split(' ').nth(1).unwrap().to_owned()).collect();
        let base = "/api/v1/jobs?state=queued%2Crunning&tag=a%20b";
        assert_eq!(asked, [format!("{base}&limit=500"), format!("{base}&cursor=c1&limit=500"), format!("{base}&cursor=c2&limit=500")]);
    }

    #[tokio::test]
    async fn a_cursor_that_stands_still_ends_the_list() {
        let page = || Turn::Answer(200, r#"{"jobs":[],"next":"same"}"#.into());
        let fake = Fake::new(vec![page(), page(), page()]).await;
        list(&fake.context, &args(true)).await.unwrap();
        assert_eq!(fake.requests().len(), 2);
    }
}
