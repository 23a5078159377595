use super::*;

fn line(label: &str, values: &[f64]) -> Line {
    let stretch = |(x, value): (usize, &f64)| Stretch {
        x: x as f64,
        range: value.is_finite().then_some((*value, *value)),
        last: *value,
        has_not_finite: !value.is_finite(),
    };
    Line { label: label.into(), style: NONE, stretches: values.iter().enumerate().map(stretch).collect() }
}

fn drawn(lines: &[Line], width: usize) -> String {
    let most = lines.iter().map(|it| it.stretches.len()).max().unwrap_or(1);
    let chart = Chart { lines, x: (0.0, most as f64 - 1.0), show_x: &number, width, height: 6, has_colour: false };
    anstream::adapter::strip_str(&format!("{}{}\n", chart.draw(), chart.legend())).to_string()
}

#[test]
fn one_curve_is_drawn_with_fine_dots() {
    insta::assert_snapshot!(drawn(&[line("loss", &[4.0, 3.0, 2.0, 1.5, 1.0, 0.5, 0.25, 0.0])], 40), @r"
        5 ┤
          │⠒⠤⣀
          │   ⠉⠒⠤⣀
          │       ⠉⠒⠤⠤⣀⣀
          │             ⠉⠉⠑⠒⠢⠤⢄⣀
        0 ┤                     ⠉⠑⠒⠒⠢⠤⠤⠤⠤⢄⣀⣀
          └─────────────────────────────────
           0              3.5              7
    ━ loss 0
    ");
}

#[test]
fn curves_without_colours_have_signs_and_what_is_not_finite_shows() {
    insta::assert_snapshot!(drawn(&[line("train", &[1.0, f64::NAN, 0.5, 0.2]), line("val", &[1.2, 1.0, f64::INFINITY, 0.6])], 40), @r"
        2 ┤
          │
          │++++++
        1 ┤•     ++++++
          │                     ••••••     +
        0 ┤           !         !     ••••••
          └─────────────────────────────────
           0              1.5              3
    • train 0.2   + val 0.6
    ");
}

#[test]
fn nothing_is_too_little_or_too_much_to_draw() {
    for values in [&[][..], &[7.0], &[f64::NAN], &[0.0, 0.0], &[1e300, -1e300], &[1e-300, 2e-300], &[f64::INFINITY, f64::NEG_INFINITY]] {
        for width in [1, 20, 60, 200] {
            let text = drawn(&[line("x", values)], width);
            assert!(text.lines().count() == 9 && text.lines().all(|it| it.chars().count() <= width.max(26)), "{values:?} {width}\n{text}");
        }
    }
}

#[test]
fn numbers_are_short_on_the_axis() {
    let cases = [
        (0.0, "0"),
        (0.30000000000000004, "0.3"),
        (1234.0, "1234"),
        (124_607.0, "124.61k"),
        (2e6, "2M"),
        (0.00001, "1.00e-5"),
        (-2.5, "-2.5"),
    ];
    for (value, text) in cases {
        assert_eq!(number(value), text);
    }
    assert_eq!((precise(0.8027), precise(f64::NAN), precise(1e-5)), ("0.8027".into(), "NaN".into(), "1.0000e-5".into()));
}
