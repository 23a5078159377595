//! Files of lines with numbers in them: one JSON object a line, or CSV with a header.

use serde_json::Value as Json;

/// One line of such a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub step: Option<i64>,
    pub at_ms: Option<u64>,
    pub values: Vec<(String, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Csv,
}

impl Format {
    /// By the end of a file's name.
    pub fn of(name: &str) -> Self {
        let is_table = [".csv", ".tsv"].iter().any(|end| name.to_ascii_lowercase().ends_with(end));
        if is_table { Format::Csv } else { Format::Json }
    }
}

/// The first that a line has is its step.
const STEPS: [&str; 6] = ["step", "global_step", "_step", "iteration", "iter", "epoch"];
const TIMES: [&str; 6] = ["time", "timestamp", "_timestamp", "wall_time", "walltime", "ts"];
/// Objects in objects become `outer/inner`.
const DEPTH_MAX: usize = 4;
const VALUES_MAX: usize = 1_000;

/// `None` for a line that is no object.
pub fn json_row(line: &str) -> Option<Row> {
    let object = match serde_json::from_str(line) {
        Ok(Json::Object(object)) => object,
        // Python writes NaN and Infinity as they are, and JSON does not know them.
        _ => match serde_json::from_str(&with_quoted_words(line)) {
            Ok(Json::Object(object)) => object,
            _ => return None,
        },
    };
    let mut cells = Vec::new();
    collect(&mut cells, "", object, DEPTH_MAX);
    Some(row(cells))
}

fn collect(cells: &mut Vec<(String, f64)>, prefix: &str, object: serde_json::Map<String, Json>, depth: usize) {
    for (key, value) in object {
        let name = format!("{prefix}{key}");
        match value {
            Json::Number(number) => cells.extend(number.as_f64().map(|it| (name, it))),
            Json::String(text) => cells.extend(number(&text).map(|it| (name, it))),
            Json::Object(inner) if depth > 1 => collect(cells, &format!("{name}/"), inner, depth - 1),
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => {}
        }
        if cells.len() >= VALUES_MAX {
            return;
        }
    }
}

/// Puts quotes around the words that stand outside of quotes and are values to Python alone.
fn with_quoted_words(line: &str) -> String {
    let (mut quoted, mut in_text, mut escaped, mut rest) = (String::with_capacity(line.len() + 8), false, false, line);
    while let Some(first) = rest.chars().next() {
        let word = if in_text { None } else { ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| rest.starts_with(word)) };
        if let Some(word) = word {
            quoted.extend(["\"", word, "\""]);
            rest = &rest[word.len()..];
            continue;
        }
        in_text ^= first == '"' && !escaped;
        escaped = in_text && first == '\\' && !escaped;
        quoted.push(first);
        rest = &rest[first.len_utf8()..];
    }
    quoted
}

/// The columns of a CSV file, from its first line.
pub fn csv_header(line: &str) -> Vec<String> {
    cells(line, separator(line)).into_iter().take(VALUES_MAX).collect()
}

/// What separates the columns does not change in a file, and shows best in its header.
pub fn separator(header: &str) -> char {
    [',', '\t', ';'].into_iter().max_by_key(|separator| (header.matches(*separator).count(), *separator == ',')).unwrap_or(',')
}

pub fn csv_row(header: &[String], separator: char, line: &str) -> Row {
    let values = cells(line, separator);
    row(header.iter().zip(values).filter_map(|(name, text)| Some((name.clone(), number(&text)?))).collect())
}

fn cells(line: &str, separator: char) -> Vec<String> {
    let (mut cells, mut cell, mut in_quotes) = (Vec::new(), String::new(), false);
    for character in line.chars() {
        match character {
            '"' => in_quotes = !in_quotes,
            it if it == separator && !in_quotes => cells.push(std::mem::take(&mut cell)),
            it => cell.push(it),
        }
    }
    cells.push(cell);
    cells.iter().map(|it| it.trim().to_owned()).collect()
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

fn row(mut cells: Vec<(String, f64)>) -> Row {
    let at = |cells: &[(String, f64)], name: &str| cells.iter().position(|(cell, _)| cell.eq_ignore_ascii_case(name));
    let step = STEPS.iter().find_map(|name| at(&cells, name)).map(|at| cells.remove(at).1).and_then(whole);
    let moment = TIMES.iter().filter_map(|name| at(&cells, name)).find_map(|at| Some((at, moment_ms(cells[at].1)?)));
    let at_ms = moment.map(|(at, at_ms)| {
        cells.remove(at);
        at_ms
    });
    cells.retain(|(name, _)| !STEPS.iter().any(|step| name.eq_ignore_ascii_case(step)));
    Row { step, at_ms, values: cells }
}

fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64)
}

/// Seconds or milliseconds since 1970; a column of that name with other numbers is just a column, such as a duration.
fn moment_ms(value: f64) -> Option<u64> {
    const YEAR_2001_S: f64 = 1e9;
    const YEAR_2286_S: f64 = 1e10;
    match value {
        seconds if (YEAR_2001_S..YEAR_2286_S).contains(&seconds) => Some((seconds * 1000.0) as u64),
        ms if (YEAR_2001_S..YEAR_2286_S).contains(&(ms / 1000.0)) => Some(ms as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(row: &Row) -> String {
        let values: Vec<String> = row.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{:?} {:?} {}", row.step, row.at_ms, values.join(" "))
    }

    #[test]
    fn a_line_of_json_has_its_step_its_time_and_every_number_in_it() {
        let cases = [
            (r#"{"step": 3, "loss": 0.5, "epoch": 1, "note": "x", "ok": true}"#, "Some(3) None loss=0.5"),
            (r#"{"epoch": 2.0, "train": {"loss": 1e-3, "deep": {"a": 1}}}"#, "Some(2) None train/loss=0.001 train/deep/a=1"),
            (r#"{"loss": NaN, "best": -Infinity, "text": "NaN \" Infinity"}"#, "None None loss=NaN best=-inf"),
            (r#"{"timestamp": 1700000000.5, "time": 12.5, "lr": "0.1"}"#, "None Some(1700000000500) time=12.5 lr=0.1"),
            (r#"{"epoch": 0.25, "loss": 2}"#, "None None loss=2"),
            ("{}", "None None "),
        ];
        for (line, expected) in cases {
            assert_eq!(shown(&json_row(line).unwrap()), expected, "{line}");
        }
        for line in ["", "[1]", "{", "{\"a\": }", "loss 3"] {
            assert_eq!(json_row(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_of_csv_is_read_by_its_header() {
        for (header, line) in
            [("epoch,accuracy,loss", "3,0.5,nan"), ("epoch;accuracy;loss", "3;0.5;nan"), ("\"epoch\"\taccuracy\tloss", "3\t\"0.5\"\tNaN")]
        {
            let columns = csv_header(header);
            assert_eq!(shown(&csv_row(&columns, separator(header), line)), "Some(3) None accuracy=0.5 loss=NaN", "{header}");
        }
        let columns = csv_header("loss,who");
        assert_eq!(shown(&csv_row(&columns, ',', "0.5,\"a, b\"")), "None None loss=0.5");
        assert_eq!(shown(&csv_row(&columns, ',', "")), "None None ");
    }
}
