//! Tables for people: columns as wide as they need to be, and one that gives way.

use anstyle::Style;

use super::{
    style::{self, paint},
    terminal::plain,
};

const GAP: &str = "  ";
/// A column that gives way keeps at least this many characters.
const NARROWEST: usize = 12;

pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub fn styled(style: Style, text: &str) -> Self {
        Self { text: plain(text), style }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(style::NONE, text.as_ref())
    }
}

pub struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new<const N: usize>(heads: [&'static str; N]) -> Self {
        Self::of(heads.map(str::to_owned).into())
    }

    /// With as many columns as turn out to be needed.
    pub fn of(heads: Vec<String>) -> Self {
        Self { heads: heads.iter().map(|head| plain(head)).collect(), rows: Vec::new() }
    }

    pub fn push(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.heads.len());
        self.rows.push(cells);
    }

    /// One column more, with a cell for every row.
    pub fn column(&mut self, head: &'static str, cells: impl Iterator<Item = Cell>) {
        self.heads.push(head.to_owned());
        self.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    }

    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        debug_assert_eq!(N, self.heads.len());
        self.rows.push(cells.into());
    }

    /// The table as lines. Where it is too wide, the column headed `gives_way` is cut.
    pub fn render(&self, width: Option<usize>, gives_way: &str) -> String {
        let widths = self.widths(width, gives_way);
        let heads: Vec<Cell> = self.heads.iter().map(|head| Cell::styled(style::QUIET, head)).collect();
        std::iter::once(&heads).chain(&self.rows).map(|cells| line(cells, &widths)).collect()
    }

    /// The table as lines. Where it is too wide, the widest of the columns from `first` on is cut, and then the next.
    pub fn render_even(&self, width: Option<usize>, first: usize) -> String {
        let mut widths = self.needed();
        let most = width.unwrap_or(usize::MAX);
        while total(&widths) > most {
            let Some(widest) = widths[first..].iter_mut().max().filter(|it| **it > NARROWEST) else { break };
            *widest -= 1;
        }
        let heads: Vec<Cell> = self.heads.iter().map(|head| Cell::styled(style::QUIET, head)).collect();
        std::iter::once(&heads).chain(&self.rows).map(|cells| line(cells, &widths)).collect()
    }

    fn needed(&self) -> Vec<usize> {
        let widest = |column: usize| self.rows.iter().map(|row| row[column].text.chars().count()).max().unwrap_or(0);
        self.heads.iter().enumerate().map(|(column, head)| widest(column).max(head.chars().count())).collect()
    }

    fn widths(&self, most: Option<usize>, gives_way: &str) -> Vec<usize> {
        let mut widths = self.needed();
        let over = total(&widths).saturating_sub(most.unwrap_or(usize::MAX));
        for (head, width) in self.heads.iter().zip(&mut widths).filter(|(head, _)| *head == gives_way) {
            *width = width.saturating_sub(over).max(NARROWEST.min(*width)).max(head.len());
        }
        widths
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * (widths.len() - 1)
}

fn line(cells: &[Cell], widths: &[usize]) -> String {
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let text = shorten(&cell.text, *width);
        let padding = if column + 1 == widths.len() { 0 } else { width - text.chars().count() + GAP.len() };
        line.push_str(&paint(cell.style, &text));
        line.push_str(&" ".repeat(padding));
    }
    let kept = line.trim_end().len();
    line.truncate(kept);
    line.push('\n');
    line
}

fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: Option<usize>) -> String {
        let mut table = Table::new(["NAME", "REASON", "AGE"]);
        table.row(["digits@12".into(), Cell::styled(style::BAD, "needs 4 CPU and 2 are free; 等待 a@1"), "2m".into()]);
        table.row(["a@1".into(), "runs".into(), "1h 30m".into()]);
        anstream::adapter::strip_str(&table.render(width, "REASON")).to_string()
    }

    #[test]
    fn columns_that_share_the_room_are_cut_evenly() {
        let mut table = Table::of(vec!["WHAT".into(), "a@1".into(), "a@2".into()]);
        table.push(vec!["command".into(), "python train.py --lr 0.1".into(), "sh run.sh".into()]);
        let shown = |width| anstream::adapter::strip_str(&table.render_even(width, 1)).to_string();
        insta::assert_snapshot!(shown(Some(34)), @"
        WHAT     a@1             a@2
        command  python train.…  sh run.sh
        ");
        assert!(shown(None).contains("--lr 0.1"));
        assert_eq!(shown(Some(1)).lines().count(), 2, "there is an end to it");
    }

    #[test]
    fn columns_are_as_wide_as_they_need_to_be() {
        insta::assert_snapshot!(shown(None), @"
        NAME       REASON                              AGE
        digits@12  needs 4 CPU and 2 are free; 等待 a@1  2m
        a@1        runs                                1h 30m
        ");
    }

    #[test]
    fn where_it_is_narrow_one_column_gives_way() {
        insta::assert_snapshot!(shown(Some(40)), @"
        NAME       REASON                 AGE
        digits@12  needs 4 CPU and 2 ar…  2m
        a@1        runs                   1h 30m
        ");
        insta::assert_snapshot!(shown(Some(5)), @"
        NAME       REASON        AGE
        digits@12  needs 4 CPU…  2m
        a@1        runs          1h 30m
        ");
    }

    #[test]
    fn a_cell_cannot_break_its_row() {
        let mut table = Table::new(["A"]);
        table.row(["x\ny\x1b[2J".into()]);
        assert!(table.render(None, "").ends_with("x y^[[2J\n"));
    }
}
