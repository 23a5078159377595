//! Curves drawn with characters: dots of braille where colours tell them apart, a sign for each curve where they do not.

use anstyle::Style;

use super::style::{NONE, QUIET, paint};

/// What a stretch of a curve comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    pub x: f64,
    /// Of the finite values; none if there is none.
    pub range: Option<(f64, f64)>,
    pub last: f64,
    pub has_not_finite: bool,
}

pub struct Line {
    pub label: String,
    pub style: Style,
    pub stretches: Vec<Stretch>,
}

pub struct Chart<'a> {
    pub lines: &'a [Line],
    pub x: (f64, f64),
    /// How a place on the x axis is written.
    pub show_x: &'a dyn Fn(f64) -> String,
    pub width: usize,
    pub height: usize,
    pub has_colour: bool,
}

const SIGNS: [char; 6] = ['•', '+', 'x', 'o', '*', '#'];
const NOT_FINITE: char = '!';
/// Dots of a character of braille, by row and column.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
const LABEL_WIDTH_MIN: usize = 5;

/// One character of the picture.
#[derive(Clone, Copy, Default)]
struct Cell {
    dots: u8,
    line: Option<usize>,
    not_finite: bool,
}

impl Chart<'_> {
    pub fn draw(&self) -> String {
        let ticks = ticks(self.y(), self.height);
        let labels: Vec<(usize, String)> = ticks.iter().map(|value| (self.row_of(*value, &ticks), number(*value))).collect();
        let margin = labels.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0).max(LABEL_WIDTH_MIN);
        let columns = self.width.saturating_sub(margin + 2).max(10);
        let cells = self.cells(columns, (ticks[0], ticks[ticks.len() - 1]));
        let mut text = String::new();
        for (row, cells) in cells.chunks(columns).enumerate() {
            let label = labels.iter().find(|(at, _)| *at == row).map(|(_, text)| text.as_str());
            let axis = paint(QUIET, &format!("{:>margin$} {}", label.unwrap_or(""), if label.is_some() { '┤' } else { '│' }));
            text.push_str(&axis);
            text.push_str(self.row(cells).trim_end());
            text.push('\n');
        }
        text.push_str(&paint(QUIET, &self.x_axis(margin, columns)));
        text
    }

    fn y(&self) -> (f64, f64) {
        let ranges = self.lines.iter().flat_map(|line| &line.stretches).filter_map(|it| it.range);
        let (least, greatest) = ranges.fold((f64::INFINITY, f64::NEG_INFINITY), |sum, it| (sum.0.min(it.0), sum.1.max(it.1)));
        if least > greatest { (0.0, 1.0) } else { (least, greatest) }
    }

    fn row_of(&self, value: f64, ticks: &[f64]) -> usize {
        let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
        ((high - value) / (high - low) * (self.height as f64 - 1.0)).round().clamp(0.0, self.height as f64 - 1.0) as usize
    }

    /// Signs stand in the middle of a character; dots are eight to one.
    fn is_fine(&self) -> bool {
        self.has_colour || self.lines.len() <= 1
    }

    fn cells(&self, columns: usize, (low, high): (f64, f64)) -> Vec<Cell> {
        let mut cells = vec![Cell::default(); columns * self.height];
        let (across, down) = if self.is_fine() { (2, 4) } else { (1, 1) };
        let (dot_columns, dot_rows) = (columns * across, self.height * down);
        let place = |share: f64, count: usize| (share * (count - 1) as f64).round().clamp(0.0, (count - 1) as f64) as usize;
        let column = |x: f64| place(if self.x.1 > self.x.0 { (x - self.x.0) / (self.x.1 - self.x.0) } else { 0.5 }, dot_columns);
        // A character of braille is as far from the label's middle as a dot is fine; rows are counted alike.
        let row = |y: f64| place((high - y) / (high - low), dot_rows);
        for (number, line) in self.lines.iter().enumerate() {
            let mut before: Option<(usize, usize)> = None;
            for it in &line.stretches {
                let at = column(it.x);
                if it.has_not_finite {
                    cells[(self.height - 1) * columns + at / across] = Cell { dots: 0, line: Some(number), not_finite: true };
                }
                let Some((least, greatest)) = it.range else {
                    before = None;
                    continue;
                };
                let mut mark = |x: usize, y: usize| {
                    let cell = &mut cells[y / down * columns + x / across];
                    cell.dots |= if down == 4 { DOTS[y % 4][x % 2] } else { 1 };
                    cell.line = Some(number);
                };
                (row(greatest)..=row(least)).for_each(|y| mark(at, y));
                let last = row(if it.last.is_finite() { it.last } else { greatest });
                if let Some((x, y)) = before.filter(|(x, _)| *x < at) {
                    join((x, y), (at, row(greatest).max(last.min(row(least)))), &mut mark);
                }
                before = Some((at, last));
            }
        }
        cells
    }

    fn row(&self, cells: &[Cell]) -> String {
        let mut text = String::new();
        for cell in cells {
            let style = cell.line.map_or(NONE, |line| self.lines[line].style);
            let sign = match cell.line {
                None => ' ',
                Some(_) if cell.not_finite => NOT_FINITE,
                Some(_) if self.is_fine() => char::from_u32(0x2800 + u32::from(cell.dots)).unwrap_or(' '),
                Some(line) => SIGNS[line % SIGNS.len()],
            };
            text.push_str(&if sign == ' ' || !self.has_colour { sign.to_string() } else { paint(style, &sign.to_string()) });
        }
        text
    }

    fn x_axis(&self, margin: usize, columns: usize) -> String {
        let texts = [self.x.0, (self.x.0 + self.x.1) / 2.0, self.x.1].map(|x| (self.show_x)(x));
        let lengths = texts.each_ref().map(|it| it.chars().count());
        let mut line = format!("{:margin$} └{}\n{:margin$}  {}", "", "─".repeat(columns), "", texts[0]);
        let middle = (columns / 2).saturating_sub(lengths[1] / 2);
        let mut at = lengths[0];
        if self.x.1 > self.x.0 && middle > at && middle + lengths[1] + 1 + lengths[2] < columns {
            line.push_str(&format!("{}{}", " ".repeat(middle - at), texts[1]));
            at = middle + lengths[1];
        }
        if self.x.1 > self.x.0 {
            line.push_str(&format!("{}{}", " ".repeat(columns.saturating_sub(lengths[2] + at).max(1)), texts[2]));
        }
        line + "\n"
    }

    /// The sign or colour of each curve, its name, and where it stands now.
    pub fn legend(&self) -> String {
        let sign = |number: usize| if self.is_fine() { '━' } else { SIGNS[number % SIGNS.len()] };
        let entry = |(number, line): (usize, &Line)| {
            let last = line.stretches.last().map_or(String::new(), |it| format!(" {}", precise(it.last)));
            format!("{} {}{last}", paint(line.style, &sign(number).to_string()), line.label)
        };
        self.lines.iter().enumerate().map(entry).collect::<Vec<_>>().join("   ")
    }
}

/// A straight line of dots between two places, without its ends.
fn join(from: (usize, usize), to: (usize, usize), mark: &mut impl FnMut(usize, usize)) {
    let steps = (to.0 - from.0).max(from.1.abs_diff(to.1));
    for step in 1..steps {
        let share = step as f64 / steps as f64;
        let between = |from: usize, to: usize| (from as f64 + (to as f64 - from as f64) * share).round() as usize;
        mark(between(from.0, to.0), between(from.1, to.1));
    }
}

/// Round numbers around a range, so many that their labels have room.
fn ticks((least, greatest): (f64, f64), rows: usize) -> Vec<f64> {
    let span = if greatest > least { greatest - least } else { least.abs().max(1e-300) };
    let wanted = (rows as f64 / 4.0).clamp(1.0, 6.0);
    let rough = span / wanted;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|it| *it >= rough * 0.999).unwrap_or(10.0 * power);
    let (first, last) = ((least / step).floor(), (greatest / step).ceil());
    let last = if last > first { last } else { first + 1.0 };
    (0..=(last - first) as usize).map(|index| (first + index as f64) * step).collect()
}

/// A number for an axis: short, and without the dust of binary fractions.
pub fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value == 0.0 => "0".into(),
        _ if !(1e-4..1e15).contains(&size) => format!("{value:.2e}"),
        _ if size >= 1e9 => short(value / 1e9, "G"),
        _ if size >= 1e6 => short(value / 1e6, "M"),
        _ if size >= 1e4 => short(value / 1e3, "k"),
        _ => trimmed(&format!("{value:.4}")),
    }
}

/// A number for reading.
pub fn precise(value: f64) -> String {
    if value.is_finite() && value != 0.0 && !(1e-4..1e7).contains(&value.abs()) {
        format!("{value:.4e}")
    } else {
        trimmed(&format!("{value:.6}"))
    }
}

fn short(value: f64, unit: &str) -> String {
    trimmed(&format!("{value:.2}")) + unit
}

fn trimmed(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests;
