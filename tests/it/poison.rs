//! Rows that cannot be read. One of them must never stop the server or its neighbours, nor cost a task its life.

use rusqlite::{Connection, types::Value};
use trainmaster::client::{Call, ClientError};

use crate::house::{House, marked, text};

fn open(house: &House) -> Connection {
    Connection::open(house.data().join("store.db")).unwrap()
}

fn columns(sql: &Connection, table: &str) -> Vec<String> {
    let mut statement = sql.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// One value in one place of the database.
struct Cell {
    table: &'static str,
    column: String,
    rowid: i64,
    was: Value,
}

impl Cell {
    /// Finds the row of a job: the job's own, or one that belongs to it.
    fn of(sql: &Connection, table: &'static str, column: &str, job: &str) -> Self {
        let key = if table == "job" { "id" } else { "job" };
        let question = format!("SELECT rowid, {column} FROM {table} WHERE {key} = ?1");
        let (rowid, was) = sql.query_row(&question, [job], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        Self { table, column: column.to_owned(), rowid, was }
    }

    /// Answers whether the database took it.
    fn put(&self, sql: &Connection, value: &Value) -> bool {
        let statement = format!("UPDATE {} SET {} = ?1 WHERE rowid = ?2", self.table, self.column);
        sql.execute(&statement, (value, self.rowid)).is_ok()
    }
}

/// A job whose row, or one that belongs to it, gets a cell poisoned.
struct Victim {
    table: &'static str,
    column: String,
    id: String,
    runs: bool,
}

/// A job for every column of every table that is about jobs: those that run, and those that wait for ever.
fn submit_victims(house: &House, marker: &str) -> Vec<Victim> {
    let sql = open(house);
    let mut victims = Vec::new();
    for (table, runs) in [("job", true), ("job", false), ("job_plan", true), ("job_plan", false), ("run", true)] {
        for column in columns(&sql, table) {
            let name = format!("{table}-{column}-{}", if runs { "runs" } else { "waits" });
            let file = serde_json::json!({ "name": name, "stop_grace": "50ms", "env": { "MARKER": marker },
                "roles": { "main": { "cpus": if runs { 0.1 } else { 64.0 }, "memory": "64MiB", "command": "exec sleep 600" } } });
            victims.push(Victim { table, column, id: house.submit(&file.to_string()), runs });
        }
    }
    for victim in victims.iter().filter(|it| it.runs) {
        house.wait_for(&victim.id, "running");
    }
    victims
}

fn poison(house: &House, victims: &[Victim], value: &Value) -> Vec<Cell> {
    let sql = open(house);
    sql.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let cells = victims.iter().map(|it| Cell::of(&sql, it.table, &it.column, &it.id));
    // A value that is the key of another row by now is not taken.
    cells.filter(|cell| cell.put(&sql, value)).collect()
}

fn mend(house: &House, cells: &[Cell]) {
    let sql = open(house);
    sql.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    assert!(cells.iter().all(|cell| cell.put(&sql, &cell.was)));
}

/// Asks for every victim. One that cannot be shown says so, and is on the list of what was set aside.
fn are_honest_about(house: &House, victims: &[Victim]) -> usize {
    let mut set_aside = Vec::new();
    for victim in victims {
        match house.get(&format!("/api/v1/jobs/{}", victim.id)) {
            Ok(_) => {}
            Err(ClientError::Refused(_, body)) if body.code == "set_aside" => set_aside.push(victim),
            Err(ClientError::Refused(_, body)) if body.code == "no_such_job" && victim.column == "id" => {}
            Err(error) => panic!("{} {}: {error:?}", victim.table, victim.column),
        }
    }
    let about = house.get_json("/api/v1/about")["quarantined"].to_string();
    let out = house.cli(&["doctor"]);
    for victim in &set_aside {
        assert!(about.contains(&victim.id), "{} {} is not in {about}", victim.table, victim.column);
        assert!(text(&out.stdout).contains(&victim.id), "{}", text(&out.stdout));
    }
    set_aside.len()
}

fn poisoned_by(value: &Value) {
    let mut house = House::with_args(&["--nodes", "1", "--node-cpus", "40", "--node-memory", "40GiB"]);
    let marker = format!("poison-{}-{:?}", std::process::id(), std::thread::current().id());
    let victims = submit_victims(&house, &marker);
    let alive = marked(&marker);
    house.kill();
    let cells = poison(&house, &victims, value);
    assert!(cells.len() > 50, "only {} cells were poisoned", cells.len());
    house.start();

    // The second takes long enough for the server to look at everything in between.
    for line in ["true", "sleep 0.6"] {
        let good = house.submit_line("good", line);
        house.wait_for(&good, "succeeded");
    }
    assert!(are_honest_about(&house, &victims) > 10);
    assert_eq!(house.cli(&["list", "--all"]).status.code(), Some(0));
    assert_eq!(marked(&marker), alive, "not every task was left alone");

    house.kill();
    mend(&house, &cells);
    house.start();
    assert_eq!(house.get_json("/api/v1/about")["quarantined"], serde_json::json!([]));
    for victim in &victims {
        house.call(Call::post(&format!("/api/v1/jobs/{}/stop", victim.id), "")).unwrap();
    }
    for victim in &victims {
        assert_eq!(house.wait_for(&victim.id, "stopped")["attempt"], 1);
    }
    assert_eq!(marked(&marker), Vec::<i32>::new());
}

#[test]
fn bytes_that_are_no_text_are_set_aside() {
    poisoned_by(&Value::Blob(vec![0xff, 0x00, 0xfe]));
}

#[test]
fn words_where_something_else_belongs_are_set_aside() {
    poisoned_by(&Value::Text("{nonsense".into()));
}

#[test]
fn numbers_below_nothing_are_set_aside() {
    poisoned_by(&Value::Integer(-1));
}

#[test]
fn numbers_beyond_everything_are_set_aside() {
    poisoned_by(&Value::Integer(i64::MAX));
}

/// The database as it is, for tests that spoil it again and again. The server must not run.
struct Copy {
    file: std::path::PathBuf,
    whole: Vec<u8>,
    token: String,
}

impl Copy {
    fn of(house: &House) -> Self {
        open(house).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let file = house.data().join("store.db");
        Self { whole: std::fs::read(&file).unwrap(), file, token: house.token() }
    }

    fn put_back(&self, house: &House) {
        for log in ["store.db-wal", "store.db-shm", "store.mark"] {
            drop(std::fs::remove_file(house.data().join(log)));
        }
        std::fs::write(&self.file, &self.whole).unwrap();
        std::fs::write(house.data().join("admin-token"), &self.token).unwrap();
    }
}

#[test]
fn no_row_of_any_other_table_keeps_the_server_from_its_work() {
    let mut house = House::new();
    house
        .call(Call::post("/api/v1/jobs", "{name: old, tags: [a], roles: {main: {command: 'true'}}}").header("idempotency-key", "k"))
        .unwrap();
    house.wait_for("old", "succeeded");
    house.kill();
    open(&house).execute_batch("INSERT INTO leftover (run) VALUES ('x'); INSERT INTO quarantine VALUES ('job', 'x', 'y', 1)").unwrap();
    let copy = Copy::of(&house);
    for table in ["token", "submit_key", "event", "job_tag", "job_version", "leftover", "quarantine"] {
        let all = columns(&open(&house), table);
        for column in all {
            for value in [Value::Blob(vec![0xff, 0x00, 0xfe]), Value::Text("{nonsense".into()), Value::Integer(i64::MAX)] {
                let sql = open(&house);
                sql.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
                sql.execute(&format!("UPDATE OR IGNORE {table} SET {column} = ?1"), [&value]).unwrap();
                drop(sql);
                house.start();
                house.submit_line("new", "true");
                house.get_json("/api/v1/jobs");
                house.get_json("/api/v1/about");
                house.kill();
                copy.put_back(&house);
            }
        }
    }
}
