//! Tables.

/// Columns are two spaces apart and as wide as their widest cell; headings are in
/// capitals.
pub fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let headings = columns.iter().map(|column| column.to_uppercase());
    let headings: Vec<String> = headings.collect();
    let lines = || std::iter::once(&headings).chain(rows);
    let width = |column: usize| {
        let cells = lines().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut text = String::new();
    for row in lines() {
        let cells = row.iter().zip(&widths);
        let padded = cells.map(|(cell, width)| format!("{cell:<width$}"));
        let line = padded.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "bb"], ["cccc", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&["x", "yyy"], &rows), "X     YYY\na     bb\ncccc\n");
    }
}
