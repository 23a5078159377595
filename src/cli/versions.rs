//! `trainmaster versions NAME`: the versions of a job side by side.

use model::{
    compare::{Direction, short_number},
    resources::show_duration_ms,
    wire::{MetricValue, VersionMetric, VersionRow, Versions},
};

use super::{
    context::{Context, job_path, query},
    failure::{Exit, Failure},
    output,
    people::{age, now_ms},
    style::{self, paint},
    table::{Cell, Table},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct VersionsArgs {
    /// The job's name
    #[arg(value_name = "NAME", value_parser = super::people::parse_job)]
    pub job: String,
    /// Show this metric and no other; may be given again. `NAME:lower` or `NAME:higher` says which way is better
    #[arg(long, short, value_name = "NAME")]
    pub metric: Vec<String>,
    /// How many versions, newest first
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub count: u32,
}

pub async fn versions(context: &Context, args: &VersionsArgs) -> Result<Exit, Failure> {
    let metric = (!args.metric.is_empty()).then(|| args.metric.join(","));
    let path = job_path(&args.job, "/versions") + &query(&[("metric", metric), ("limit", Some(args.count.to_string()))]);
    if context.json {
        output::json(&context.get::<serde_json::Value>(&path).await?)?;
        return Ok(Exit::Done);
    }
    let told: Versions = context.get(&path).await?;
    output::text(&shown(&told, now_ms(), output::width()))?;
    Ok(Exit::Done)
}

fn shown(told: &Versions, now_ms: u64, width: Option<usize>) -> String {
    let heads = ["VERSION", "STATE"].into_iter().map(str::to_owned).chain(told.params.iter().cloned());
    let heads = heads.chain(told.metrics.iter().map(|it| it.name.clone())).chain(["DURATION", "AGE"].map(str::to_owned));
    let mut table = Table::of(heads.collect());
    for row in &told.versions {
        table.push(cells(told, row, now_ms));
    }
    let mut text = table.render_even(width, 2);
    told.metrics.iter().for_each(|it| text.push_str(&best(&told.name, it)));
    if let Some(next) = told.next {
        text.push_str(&format!("versions below {next} are not shown; -n shows more\n"));
    }
    text
}

fn cells(told: &Versions, row: &VersionRow, now_ms: u64) -> Vec<Cell> {
    let param = |name: &String| row.params.get(name).map_or_else(|| "-".into(), |it| it.to_string().into());
    let metric = |(metric, value): (&VersionMetric, &Option<MetricValue>)| {
        let is_best = metric.best.as_ref().is_some_and(|it| it.version == row.version);
        let Some(value) = value else { return Cell::styled(style::QUIET, "-") };
        let number = short_number(value.best.map_or(value.last.0, |it| it.value));
        if is_best { Cell::styled(style::GOOD, &format!("{number} *")) } else { number.into() }
    };
    let duration = row.duration_ms.map_or_else(|| "-".to_owned(), show_duration_ms);
    let mut cells: Vec<Cell> = vec![row.version.to_string().into(), Cell::styled(style::job(row.state), row.state.text())];
    cells.extend(told.params.iter().map(param));
    cells.extend(told.metrics.iter().zip(&row.metrics).map(metric));
    cells.extend([duration.into(), age(row.created_at_ms, now_ms).into()]);
    cells
}

fn best(name: &str, metric: &VersionMetric) -> String {
    let Some(best) = &metric.best else { return String::new() };
    let way = metric.direction.map_or("", Direction::text);
    let why = if metric.guessed { ", to judge by its name" } else { "" };
    let label = paint(style::LOUD, &format!("{}@{}", plain(name), best.version));
    format!("* best {}: {label} with {} at step {} ({way} is better{why})\n", plain(&metric.name), short_number(best.value), best.step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_below_each_other_and_the_best_has_a_star() {
        let row = |version: u32, lr: f64, accuracy: Option<f64>| {
            let value = accuracy.map(|it| serde_json::json!({"last": it, "last_step": 9, "best": {"value": it, "step": 7}}));
            serde_json::json!({"id": "x", "version": version, "state": "succeeded", "reason": "", "created_at_ms": 0, "duration_ms": 4_200,
                "params": {"lr": lr, "wd": 1}, "metrics": [value]})
        };
        let metric = serde_json::json!({"name": "accuracy", "direction": "higher", "guessed": true, "best": {"version": 2, "value": 0.9375, "step": 7}});
        let told = serde_json::json!({"name": "digits", "owner": "ann", "params": ["lr"], "metrics": [metric], "next": 1,
            "versions": [row(3, 0.1, None), row(2, 0.01, Some(0.9375)), row(1, 0.3, Some(0.5))]});
        let text = shown(&serde_json::from_value(told).unwrap(), 60_000, Some(80));
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @"
        VERSION  STATE      lr    accuracy  DURATION  AGE
        3        succeeded  0.1   -         4.2s      1m
        2        succeeded  0.01  0.9375 *  4.2s      1m
        1        succeeded  0.3   0.5       4.2s      1m
        * best accuracy: digits@2 with 0.9375 at step 7 (higher is better, to judge by its name)
        versions below 1 are not shown; -n shows more
        ");
    }
}
