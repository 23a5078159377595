//! Places of the server as a person writes them: `data:mnist/train`, `mnist@3:train`, `digits@2:/output`, `digits/worker-0:/output`, `digits:/code`.

use std::str::FromStr;

use model::{
    ids::{DatasetName, VolumeName},
    location::volume_path,
    versioned::Versioned,
};

use super::{context::query, people};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// What stands before the `:`: a volume, a version of a dataset, a job, or a job and a task.
    head: String,
    whose: Whose,
    /// Below it, without a `/` around it.
    pub path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A dataset's lies in one.
    Volume,
    /// What a job has put out, or was given: by the name of that directory.
    Job(&'static str),
}

const OUTPUT: &str = "/output";
const OF_JOBS: [&str; 3] = [OUTPUT, "/input", "/code"];

impl FromStr for Remote {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is neither in a volume, such as data:mnist, nor a job's, such as digits:/output");
        // A URL has a `:` too, and is no volume called `http`.
        let (head, path) = text.split_once(':').filter(|(_, path)| !path.starts_with("//")).ok_or_else(wanted)?;
        let behind = |root: &'static str| Some((root, path.strip_prefix(root).filter(|it| it.is_empty() || it.starts_with('/'))?));
        let of_job = OF_JOBS.into_iter().find_map(behind);
        let (whose, path) = match of_job {
            Some((root, rest)) => {
                let (job, task) = head.split_once('/').map_or((head, None), |(job, task)| (job, Some(task)));
                people::parse_job(job)?;
                task.map(str::parse::<model::ids::TaskName>).transpose().map_err(|bad| bad.to_string())?;
                (Whose::Job(root), rest)
            }
            None => {
                VolumeName::parse(head).map(drop).or_else(|_| head.parse::<Versioned<DatasetName>>().map(drop)).map_err(|_| wanted())?;
                (Whose::Volume, path)
            }
        };
        let path = volume_path(path).map_err(|bad| format!("`{text}` {bad}"))?;
        Ok(Self { head: head.to_owned(), whose, path })
    }
}

impl Remote {
    /// Whether a word means a place of the server, and not a file here.
    pub fn is_meant(text: &str) -> bool {
        let head = text.split_once(':').map(|(head, _)| head);
        head.is_some_and(|head| !head.is_empty() && !head.starts_with(['.', '/']))
    }

    pub fn whose(&self) -> Whose {
        self.whose
    }

    /// Another place of the same volume or job.
    pub fn at(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    /// Another path of the same volume or job, as a person writes it.
    pub fn shown(&self, path: &str) -> String {
        match self.whose {
            Whose::Volume => format!("{}:{path}", self.head),
            Whose::Job(root) if path.is_empty() => format!("{}:{root}", self.head),
            Whose::Job(root) => format!("{}:{root}/{path}", self.head),
        }
    }

    /// Where the API has all of it as one file.
    pub fn archive_path(&self) -> String {
        format!("/api/v1/files/archive{}", query(&[("at", Some(self.shown(&self.path)))]))
    }

    /// Where the API has the content of such a path.
    pub fn content_path(&self, path: &str) -> String {
        format!("/api/v1/files/content{}", query(&[("at", Some(self.shown(path)))]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<Remote>().map(|it| (it.whose, it.shown(&it.path)));
        assert_eq!(read("data:mnist/train/"), Ok((Whose::Volume, "data:mnist/train".into())));
        assert_eq!(read("data:"), Ok((Whose::Volume, "data:".into())));
        assert_eq!(read("digits@2:/output/worker-0/a"), Ok((Whose::Job(OUTPUT), "digits@2:/output/worker-0/a".into())));
        assert_eq!(read("digits/worker-0:/output"), Ok((Whose::Job(OUTPUT), "digits/worker-0:/output".into())));
        assert_eq!(read("digits:/code/train.py"), Ok((Whose::Job("/code"), "digits:/code/train.py".into())));
        assert_eq!(read("data:/codes"), Ok((Whose::Volume, "data:codes".into())));
        assert_eq!(read("mnist@3:train/a"), Ok((Whose::Volume, "mnist@3:train/a".into())));
        for wrong in ["data", "a b:x", "data:a/../b", "mnist@new:x", "digits@0:/output", "digits/x:/output", "http://x/y"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_here_is_not_taken_for_a_place_there() {
        assert!(Remote::is_meant("data:x") && Remote::is_meant("data:"));
        for here in ["./a:b", "/a:b", "a", "../x:y", ":x"] {
            assert!(!Remote::is_meant(here), "{here}");
        }
    }
}
