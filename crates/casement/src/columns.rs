//! Tables.

/// Two spaces between columns, each as wide as its widest cell; the head in capitals.
pub fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let head = columns.iter().map(|column| column.to_uppercase());
    let head: Vec<String> = head.collect();
    let lines = || std::iter::once(&head).chain(rows);
    let width = |at: usize| {
        let cells = lines().filter_map(|row| row.get(at));
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
