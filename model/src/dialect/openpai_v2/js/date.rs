//! Dates: YAML 1.1 has them, and JavaScript prints them in its own way.

const DAY_MS: i64 = 86_400_000;

/// `2019-01-01` and `2019-1-1T10:20:30.5 +2:30`, as milliseconds since 1970.
pub(super) fn read(text: &str) -> Option<i64> {
    let mut rest = Rest(text);
    let year = rest.digits(4, 4)?;
    rest.take("-")?;
    let month_text = rest.0;
    let month = rest.digits(1, 2)?;
    rest.take("-")?;
    let day = rest.digits(1, 2)?;
    let day_ms = day_number(year, month, day) * DAY_MS;
    if rest.0.is_empty() {
        // Without a time both month and day have two digits.
        return (month_text.len() == 5).then_some(day_ms);
    }
    rest.take("T").or_else(|| rest.take("t")).or_else(|| rest.blanks(1))?;
    let hour = rest.digits(1, 2)?;
    rest.take(":")?;
    let minute = rest.digits(2, 2)?;
    rest.take(":")?;
    let second = rest.digits(2, 2)?;
    let fraction_ms = if rest.take(".").is_some() { rest.fraction_ms() } else { 0 };
    let away_ms = zone_ms(&mut rest)?;
    rest.0.is_empty().then_some(day_ms + ((hour * 60 + minute) * 60 + second) * 1000 + fraction_ms - away_ms)
}

fn zone_ms(rest: &mut Rest<'_>) -> Option<i64> {
    if rest.0.is_empty() {
        return Some(0);
    }
    rest.blanks(0);
    if rest.take("Z").is_some() {
        return Some(0);
    }
    let sign = if rest.take("-").is_some() { -1 } else { rest.take("+").map(|()| 1)? };
    let hours = rest.digits(1, 2)?;
    let minutes = if rest.take(":").is_some() { rest.digits(2, 2)? } else { 0 };
    Some(sign * (hours * 60 + minutes) * 60_000)
}

struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn take(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn digits(&mut self, least: usize, most: usize) -> Option<i64> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        (count >= least).then(|| digits.parse().ok())?
    }

    fn blanks(&mut self, least: usize) -> Option<()> {
        let rest = self.0.trim_start_matches([' ', '\t']);
        let count = self.0.len() - rest.len();
        self.0 = rest;
        (count >= least).then_some(())
    }

    /// The first three digits; any more say nothing to JavaScript.
    fn fraction_ms(&mut self) -> i64 {
        let rest = self.0.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &self.0[..self.0.len() - rest.len()];
        let padded: String = digits.chars().chain("000".chars()).take(3).collect();
        self.0 = rest;
        padded.parse().unwrap_or(0)
    }
}

/// Days since 1970. A month 13 is the next year's first, and a year below 100 is one of the last century, as in `Date.UTC`.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if year < 100 { year + 1900 } else { year };
    let months = year * 12 + month - 1;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a day since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// `Date.prototype.toString` on a machine whose clock is set to UTC, as the server's was.
pub(super) fn show(ms: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, seconds) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS) / 1000);
    let (year, month, day) = civil(days);
    let (weekday, month) = (DAYS[days.rem_euclid(7) as usize], MONTHS[(month - 1) as usize]);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{weekday} {month} {day:02} {year:04} {hour:02}:{minute:02}:{second:02} GMT+0000 (Coordinated Universal Time)")
}
