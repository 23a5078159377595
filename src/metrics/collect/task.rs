//! Everything of one task that is read, and its book.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use model::ids::RunKey;

use super::{
    Marked,
    log::{LogReader, LogState},
    output::{Output, Reading},
};
use crate::{
    metrics::book::{Batch, Book, Kind},
    rundir::RunDir,
};

/// What is read of one task before it is committed, and before others have their turn.
const BYTES_A_BATCH: u64 = 32 << 20;
const BATCHES_A_TURN: usize = 8;
/// A task that floods its log needs the processor itself: while it runs no more of the log is read in a batch, which makes it the
/// last of its turn.
const RUNNING_LOG_BYTES_A_BATCH: u64 = 4 << 20;
const UNWRITTEN_BYTES_MAX: u64 = 64 << 20;

pub struct TaskReader {
    book: PathBuf,
    logs: BTreeMap<u32, LogReader>,
    output: Output,
    is_loaded: bool,
    /// How much was read since nothing was found.
    unwritten_bytes: u64,
}

pub struct Read {
    /// Runs of which there is nothing more to read.
    pub finished: Vec<RunKey>,
    /// More waits already.
    pub more: bool,
}

impl TaskReader {
    pub fn new(dir: &RunDir) -> Self {
        Self { book: dir.metrics(), logs: BTreeMap::new(), output: Output::new(dir.output()), is_loaded: false, unwritten_bytes: 0 }
    }

    /// Reads what is new of a task's runs. After an error this reader may be ahead of the book and must not be used again.
    pub fn read(&mut self, marked: &[Marked]) -> io::Result<Read> {
        let read = self.read_on(marked);
        if let Err(error) = &read
            && error.kind() == io::ErrorKind::InvalidData
        {
            tracing::warn!("{} is damaged and is written anew: {error}", self.book.display());
            fs::remove_dir_all(&self.book)?;
        }
        if !marked[0].dir.path().exists() {
            self.forget();
        }
        read
    }

    /// The job was deleted meanwhile, and a book that was made after that would stay for ever.
    fn forget(&self) {
        let _gone_or_not = fs::remove_dir_all(&self.book);
        let _last_or_not = self.book.parent().map(fs::remove_dir);
    }

    fn read_on(&mut self, marked: &[Marked]) -> io::Result<Read> {
        self.load(marked)?;
        self.output.look(&marked[0].errand.plan, marked[0].is_over);
        let mut more = true;
        for _ in 0..BATCHES_A_TURN {
            let news = self.output.news(&reading(marked));
            let has_news = !news.is_empty() || marked.iter().any(|it| self.log_needs(it));
            if !has_news {
                more = false;
                break;
            }
            more = self.batch(marked, &news)? >= BYTES_A_BATCH;
            if !more {
                break;
            }
        }
        // Only one attempt at a time comes to its end: what it left of the files is the next one's.
        let finished = marked.iter().take(1).filter(|it| it.is_over && !more).map(|it| it.run.clone()).collect::<Vec<_>>();
        Ok(Read { more: more || marked.len() > 1 && !finished.is_empty(), finished })
    }

    fn log_needs(&self, marked: &Marked) -> bool {
        let log = &self.logs[&marked.run.attempt];
        log.has_news() || marked.is_over && log.is_open()
    }

    /// From where the book says.
    fn load(&mut self, marked: &[Marked]) -> io::Result<()> {
        let mut known: BTreeMap<u32, LogState> = BTreeMap::new();
        if !std::mem::replace(&mut self.is_loaded, true)
            && let Some(book) = Book::open(&self.book)?
        {
            let attempts = book.positions(Kind::Log)?.into_iter();
            known = attempts.filter_map(|(attempt, state)| Some((attempt.parse().ok()?, state))).collect();
            self.output.files = book.positions(Kind::File)?.into_iter().collect();
            self.output.directories = book.positions(Kind::Directory)?.into_iter().collect();
        }
        for it in marked {
            let attempt = it.run.attempt;
            let state = known.remove(&attempt).unwrap_or_default();
            self.logs.entry(attempt).or_insert_with(|| LogReader::new(&it.dir, attempt, &it.errand.plan, state));
        }
        self.logs.retain(|attempt, _| marked.iter().any(|it| it.run.attempt == *attempt));
        Ok(())
    }

    /// Reads and commits once; answers how many bytes were read. Most runs never say a number, so nothing is put on disk
    /// before one is found, or before too much was read to read it again after a restart.
    fn batch(&mut self, marked: &[Marked], news: &[String]) -> io::Result<u64> {
        if Book::is_there(&self.book) {
            return self.read_into(&mut Book::open_or_make(&self.book)?, marked, news);
        }
        // A file that is made for numbers will have some.
        if !news.is_empty() {
            return self.first_batch(marked, news);
        }
        let before = (self.logs.iter().map(|(attempt, log)| (*attempt, log.state.clone())).collect::<Vec<_>>(), self.output.clone());
        let mut draft = Book::in_memory()?;
        let read = self.read_into(&mut draft, marked, news)?;
        self.unwritten_bytes += read;
        if draft.is_empty()? && self.unwritten_bytes <= UNWRITTEN_BYTES_MAX {
            return Ok(read);
        }
        for (attempt, state) in before.0 {
            self.logs.get_mut(&attempt).expect("it was there before").state = state;
        }
        self.output = before.1;
        self.first_batch(marked, news)
    }

    fn first_batch(&mut self, marked: &[Marked], news: &[String]) -> io::Result<u64> {
        let mut draft = Book::draft(&self.book)?;
        let read = self.read_into(&mut draft, marked, news)?;
        draft.publish(&self.book)?;
        Ok(read)
    }

    fn read_into(&mut self, book: &mut Book, marked: &[Marked], news: &[String]) -> io::Result<u64> {
        let mut batch = book.batch()?;
        let mut read = 0;
        for it in marked {
            if self.log_needs(it) {
                read += self.log(&mut batch, it, BYTES_A_BATCH.saturating_sub(read))?;
            }
        }
        for path in news {
            read += self.output.read(&mut batch, path, &reading(marked), BYTES_A_BATCH.saturating_sub(read))?;
        }
        batch.commit()?;
        Ok(read)
    }

    fn log(&mut self, batch: &mut Batch<'_>, marked: &Marked, bytes_max: u64) -> io::Result<u64> {
        let attempt = marked.run.attempt;
        let log = self.logs.get_mut(&attempt).expect("every marked run has its reader");
        let bytes_max = if marked.is_over { bytes_max } else { bytes_max.min(RUNNING_LOG_BYTES_A_BATCH) };
        let read = log.read(batch, bytes_max)?;
        if marked.is_over && read < bytes_max && log.is_open() {
            log.end(batch)?;
        }
        batch.set_position(Kind::Log, &attempt.to_string(), &log.state)?;
        Ok(read)
    }
}

/// What a task writes to `/output` belongs to the earliest attempt that is not done with, up to what the next one found.
fn reading(marked: &[Marked]) -> Reading<'_> {
    let next_found = marked.get(1).map(|it| &it.errand.found);
    Reading { attempt: marked[0].run.attempt, is_over: marked[0].is_over, next_found }
}
