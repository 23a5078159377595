//! What a verb says when it cannot do what was asked, and the exit code that goes with it.

use hyper::StatusCode;
use model::{said, spec::Problem, wire::ErrorBody, words::Words};

use crate::client::ClientError;

/// The exit codes, as `--help` and `docs/cli.md` promise them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    /// The job failed or was stopped.
    JobFailed,
    /// The person asked for something that cannot be.
    You,
    /// The server, or this program, could not do what it should.
    Us,
    /// No server answers.
    Away,
    /// Ctrl-C, as a shell spells it.
    Interrupted,
    /// Whoever read our output has left, as in `trainmaster list | head`.
    NobodyReads,
    /// What a command elsewhere ended with.
    Code(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::JobFailed => 1,
            Exit::You => 2,
            Exit::Us => 3,
            Exit::Away => 4,
            Exit::Interrupted => 130,
            Exit::NobodyReads => 141,
            Exit::Code(code) => code,
        }
    }
}

#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub body: Box<ErrorBody>,
    /// What the lines and columns of the problems belong to; none where they mean nothing to the person.
    pub file: Option<String>,
    /// Whether asking again soon may go better.
    pub may_pass: bool,
}

impl Failure {
    pub fn new(exit: Exit, code: &str, message: impl Into<Words>) -> Self {
        let Words { en: message, zh: message_zh } = message.into();
        let body = ErrorBody { code: code.into(), message, hint: None, message_zh, hint_zh: None, problems: Vec::new() };
        Self { exit, body: Box::new(body), file: None, may_pass: exit == Exit::Away }
    }

    pub fn usage(message: impl Into<Words>) -> Self {
        Self::new(Exit::You, "usage", message)
    }

    pub fn away(message: impl Into<Words>) -> Self {
        Self::new(Exit::Away, "not_reachable", message)
    }

    pub fn hint(mut self, hint: impl Into<Words>) -> Self {
        let Words { en, zh } = hint.into();
        self.body.hint = Some(en);
        self.body.hint_zh = Some(zh).filter(|zh| !zh.is_empty());
        self
    }

    /// A job file that cannot be read: every problem at once.
    pub fn bad_file(file: &str, problems: Vec<Problem>) -> Self {
        let mut failure = Self::new(Exit::You, "bad_spec", counted(file, problems.len()));
        failure.body.problems = problems.iter().map(Into::into).collect();
        failure.file = Some(file.to_owned());
        failure
    }
}

fn counted(file: &str, problems: usize) -> Words {
    match problems {
        1 => said!("{file} has a problem", "{file} 有 1 个问题"),
        _ => said!("{file} has {problems} problems", "{file} 有 {problems} 个问题"),
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.words();
        match error {
            ClientError::Away(..) => Self::away(message).hint(said!(
                "is it running? `trainmaster up` starts a server; `trainmaster doctor` looks for one",
                "它在运行吗？用 `trainmaster up` 启动服务器；用 `trainmaster doctor` 查找服务器"
            )),
            ClientError::BadUrl(_) => Self::usage(message),
            ClientError::Refused(status, body) => Self {
                exit: whose_fault(status),
                may_pass: status == StatusCode::SERVICE_UNAVAILABLE,
                body: with_hint(status, body),
                file: None,
            },
        }
    }
}

fn whose_fault(status: StatusCode) -> Exit {
    if status.is_server_error() { Exit::Us } else { Exit::You }
}

fn with_hint(status: StatusCode, mut body: Box<ErrorBody>) -> Box<ErrorBody> {
    if status == StatusCode::UNAUTHORIZED && body.hint.is_none() {
        body.hint = Some("`trainmaster login URL` stores a token that the server knows".into());
        body.hint_zh = Some("用 `trainmaster login URL` 保存服务器认识的令牌".into());
    }
    body
}

impl From<std::io::Error> for Failure {
    /// The only files and streams a verb touches without saying so are its own output.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::new(Exit::NobodyReads, "nobody_reads", said!("nobody reads the output any more", "输出已经没有人读"));
        }
        Self::new(Exit::Us, "output", said!("the output cannot be written: {error}", "写不出输出（{error}）"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16) -> Failure {
        let body = Failure::usage("no").body;
        ClientError::Refused(StatusCode::from_u16(status).unwrap(), body).into()
    }

    #[test]
    fn a_refusal_is_the_callers_and_a_server_error_is_ours() {
        assert_eq!(refused(404).exit.code(), 2);
        assert_eq!(refused(422).exit.code(), 2);
        assert_eq!(refused(500).exit.code(), 3);
        let away: Failure = ClientError::Away("http://x".into(), "refused".into()).into();
        assert_eq!(away.exit.code(), 4);
    }

    #[test]
    fn only_what_may_go_better_is_asked_again() {
        assert!(refused(503).may_pass);
        assert!(!refused(500).may_pass);
        assert!(!refused(409).may_pass);
    }

    #[test]
    fn a_reader_that_leaves_is_not_an_error_of_ours() {
        let left: Failure = std::io::Error::from(std::io::ErrorKind::BrokenPipe).into();
        let full: Failure = std::io::Error::from(std::io::ErrorKind::StorageFull).into();
        assert_eq!((left.exit.code(), full.exit.code()), (141, 3));
    }

    #[test]
    fn an_unknown_caller_is_told_to_log_in() {
        assert!(refused(401).body.hint.unwrap().contains("trainmaster login"));
    }
}
