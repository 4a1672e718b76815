//! Tables for people: without a frame, so that `awk` and `cut` can read them too; times without fractions; on a terminal
//! no wider than it is.

use comfy_table::{ContentArrangement, Table, presets};

use crate::terminal_text::visible;

/// No column is cut below this.
const NARROWEST: usize = 12;
/// Between columns.
const GAP: usize = 2;

/// The lines of a table, the header first.
pub(crate) fn lines(header: &[&str], rows: &[Vec<String>], width: Option<usize>) -> Vec<String> {
    let mut rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| visible(&readable_time(cell))).collect()).collect();
    if let Some(width) = width {
        fit(header, &mut rows, width);
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header.iter().map(|name| name.to_uppercase()));
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt().lines().map(str::to_owned).collect()
}

/// Shortens the widest columns until a line fits. Ids are never cut: they are there to be copied.
fn fit(header: &[&str], rows: &mut [Vec<String>], width: usize) {
    let count = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = header.iter().map(|name| count(name)).collect();
    for row in rows.iter() {
        for (at, cell) in row.iter().enumerate() {
            widths[at] = widths[at].max(count(cell));
        }
    }
    let mut limits = widths;
    let total = |limits: &[usize]| limits.iter().sum::<usize>() + GAP * limits.len().saturating_sub(1);
    while total(&limits) > width {
        let may_be_cut = |(at, length): &(usize, &usize)| header[*at] != "id" && **length > NARROWEST;
        let Some((widest, _)) =
            limits.iter().enumerate().filter(may_be_cut).max_by_key(|(_, length)| **length)
        else {
            break;
        };
        limits[widest] -= 1;
    }
    for row in rows {
        for (cell, limit) in row.iter_mut().zip(&limits) {
            if count(cell) > *limit {
                *cell = cell.chars().take(limit.saturating_sub(1)).chain(['…']).collect();
            }
        }
    }
}

/// `2026-11-18T13:10:05.123456Z` as `2026-11-18 13:10:05Z`; anything else as it is.
pub(crate) fn readable_time(text: &str) -> String {
    let is_time = text.len() >= 20
        && text.is_ascii()
        && text.ends_with('Z')
        && text.as_bytes()[10] == b'T'
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            13 | 16 => byte == b':',
            10 => true,
            19 => matches!(byte, b'.' | b'Z'),
            _ => byte.is_ascii_digit() || at + 1 == text.len(),
        });
    if is_time { format!("{} {}Z", &text[..10], &text[11..19]) } else { text.to_owned() }
}

/// The line with what `paint` makes of the cell in this column. Cells stand in a line in their order, as they are.
pub(crate) fn painted(line: &str, cells: &[String], column: usize, paint: impl Fn(&str) -> String) -> String {
    let mut from = 0;
    for (at, cell) in cells.iter().enumerate().take(column + 1) {
        let Some(found) = line[from..].find(cell.as_str()) else { return line.to_owned() };
        let (start, end) = (from + found, from + found + cell.len());
        if at == column {
            return format!("{}{}{}", &line[..start], paint(cell), &line[end..]);
        }
        from = end;
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    // S11
    #[test]
    fn a_time_is_told_to_the_second() {
        for (text, expected) in [
            ("2026-11-18T13:10:05.123456Z", "2026-11-18 13:10:05Z"),
            ("2026-11-18T13:10:05Z", "2026-11-18 13:10:05Z"),
            ("2026-11-18T13:10:05+01:00", "2026-11-18T13:10:05+01:00"),
            ("a name that is long enoughZ", "a name that is long enoughZ"),
            ("-", "-"),
        ] {
            assert_eq!(readable_time(text), expected);
        }
    }

    // S11
    #[test]
    fn a_table_is_no_wider_than_the_terminal_and_ids_stay_whole() {
        let id = "01985f3e-7c1a-7b3c-9d2e-5f6a7b8c9d01";
        let rows = [row(&["demo", &"why it is so ".repeat(12), id]), row(&["a", "b", id])];
        let header = ["name", "reason", "id"];
        for line in lines(&header, &rows, Some(80)) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let cut = lines(&header, &rows, Some(80));
        assert!(cut[1].contains('…') && cut[1].ends_with(id), "{cut:?}");
        assert!(lines(&header, &rows, None)[1].contains(&"why it is so ".repeat(12)), "elsewhere all of it");
    }

    // S11
    #[test]
    fn the_right_cell_is_painted() {
        let cells = row(&["on", "online", "-"]);
        let line = &lines(&["name", "status", "x"], std::slice::from_ref(&cells), None)[1];
        assert_eq!(
            painted(line, &cells, 1, |text| format!("<{text}>")),
            line.replacen("online", "<online>", 1)
        );
    }
}
