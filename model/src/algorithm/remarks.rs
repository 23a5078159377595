//! What whoever adds an algorithm should know although nothing is wrong with it.

use crate::{
    code::{CodePlan, GitPlan, git},
    plan::Plan,
    said,
    words::Words,
};

/// A version is kept as it was written. Where that names code that moves, what it runs is not.
pub fn remarks(plan: &Plan) -> Vec<Words> {
    match &plan.code {
        Some(CodePlan::Git(GitPlan { reference: Some(reference), .. })) if is_fixed(reference) => Vec::new(),
        Some(CodePlan::Git(GitPlan { reference: Some(reference), .. })) => vec![moves(said!("`{reference}`", " `{reference}` "))],
        Some(CodePlan::Git(GitPlan { reference: None, .. })) => vec![moves(said!("the usual branch", "默认分支"))],
        Some(CodePlan::At(location)) => {
            let place = location.without_query();
            vec![said!(
                "the code is what is in `{place}` when a job starts: if that changes, so does what this version runs; \
                 an uploaded folder or a commit of a repository stays as it is",
                "代码是作业开始时 `{place}` 里的内容：那里改了，这个版本运行的代码也会跟着变；上传目录，或写仓库的某个提交，就不会变"
            )]
        }
        Some(CodePlan::Upload(_)) | None => Vec::new(),
    }
}

fn is_fixed(reference: &str) -> bool {
    git::is_commit(reference) || git::is_short_commit(reference)
}

fn moves(Words { en, zh }: Words) -> Words {
    said!(
        "the code is what {en} of its repository is when a job starts: if that moves, so does what this version runs; \
         the id of a commit in its place stays as it is",
        "代码是作业开始时仓库{zh}的内容：它往前走了，这个版本运行的代码也会跟着变；改写提交 ID 就不会变"
    )
}

#[cfg(test)]
mod tests {
    use super::{
        super::{check, read},
        *,
    };

    fn said(code: &str) -> Vec<Words> {
        remarks(&check(&read(&format!("name: mlp\nimage: x\ncommand: x\n{code}")).unwrap()).unwrap())
    }

    #[test]
    fn code_that_moves_is_told() {
        let moving = ["https://a.example/b.git#main", "https://a.example/b.git", "{git: https://a.example/b.git, ref: v1.2}", "data:mlp"];
        let told = moving.map(|code| match said(&format!("code: {code}")).as_slice() {
            [one] => format!("{}\n{}", one.en, one.zh),
            other => panic!("{code}: {other:?}"),
        });
        insta::assert_snapshot!(told.join("\n"), @"
        the code is what `main` of its repository is when a job starts: if that moves, so does what this version runs; the id of a commit in its place stays as it is
        代码是作业开始时仓库 `main` 的内容：它往前走了，这个版本运行的代码也会跟着变；改写提交 ID 就不会变
        the code is what the usual branch of its repository is when a job starts: if that moves, so does what this version runs; the id of a commit in its place stays as it is
        代码是作业开始时仓库默认分支的内容：它往前走了，这个版本运行的代码也会跟着变；改写提交 ID 就不会变
        the code is what `v1.2` of its repository is when a job starts: if that moves, so does what this version runs; the id of a commit in its place stays as it is
        代码是作业开始时仓库 `v1.2` 的内容：它往前走了，这个版本运行的代码也会跟着变；改写提交 ID 就不会变
        the code is what is in `data:mlp` when a job starts: if that changes, so does what this version runs; an uploaded folder or a commit of a repository stays as it is
        代码是作业开始时 `data:mlp` 里的内容：那里改了，这个版本运行的代码也会跟着变；上传目录，或写仓库的某个提交，就不会变
        ");
    }

    #[test]
    fn nothing_is_said_of_code_that_stays_as_it_is() {
        let digest = "ab".repeat(32);
        let commit = "1f2e3d4c5b6a1f2e3d4c5b6a1f2e3d4c5b6a1f2e";
        let fixed = [
            format!("code: https://a.example/b.git#{commit}"),
            format!("code: https://a.example/b.git#{}", &commit[..7]),
            format!("code: {{upload: {digest}}}"),
            String::new(),
        ];
        for code in fixed {
            assert_eq!(said(&code), [], "{code}");
        }
    }
}
