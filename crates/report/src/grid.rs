//! A table: its columns, and its cells with what they mean. On a terminal it has no borders, and
//! fits a width by omitting the least important columns or, if none may be, by a second table.

use crate::markup::inline;
use crate::style::{Paint, Style, fold, printable};
use crate::words::NONE;

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct GridColumn {
    title: String,
    side: Align,
    /// The column with the highest rank is omitted first. Rank 0 is never omitted; [`LAST`] only if
    /// folding the first column is not enough.
    rank: u8,
}

/// The rank of a column that is omitted last.
pub(crate) const LAST: u8 = u8::MAX;

/// A column of text.
pub(crate) fn left(title: &str, rank: u8) -> GridColumn {
    GridColumn { title: title.to_string(), side: Align::Left, rank }
}

/// A column of figures.
pub(crate) fn right(title: &str, rank: u8) -> GridColumn {
    GridColumn { title: title.to_string(), side: Align::Right, rank }
}

/// A cell.
#[derive(Debug, Clone)]
pub(crate) struct GridCell {
    pub(crate) text: String,
    pub(crate) paint: Paint,
    /// The id of the case that it names.
    pub(crate) case: Option<String>,
}

impl GridCell {
    pub(crate) fn new(text: impl Into<String>, paint: Paint) -> GridCell {
        GridCell { text: printable(&text.into()), paint, case: None }
    }

    /// The name of a case.
    pub(crate) fn of_case(id: &str, name: impl Into<String>, paint: Paint) -> GridCell {
        GridCell { case: Some(id.to_string()), ..GridCell::new(name, paint) }
    }

    pub(crate) fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// A line of a table.
#[derive(Debug, Clone)]
pub(crate) enum GridLine {
    Heading(String),
    Cells(Vec<GridCell>),
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    columns: Vec<GridColumn>,
    lines: Vec<GridLine>,
    /// Whether columns that do not fit go into a second table, and so on.
    is_split: bool,
}

/// The minimum width of a folded first column, and of a folded last one.
const FIRST_MIN: usize = 16;
const LAST_MIN: usize = 12;

impl Grid {
    pub(crate) fn new(columns: Vec<GridColumn>) -> Grid {
        Grid { columns, lines: Vec::new(), is_split: false }
    }

    /// A table of which no column may be omitted.
    pub(crate) fn split(columns: Vec<GridColumn>) -> Grid {
        Grid { is_split: true, ..Grid::new(columns) }
    }

    pub(crate) fn lines(&self) -> &[GridLine] {
        &self.lines
    }

    pub(crate) fn side(&self, column: usize) -> Align {
        self.columns[column].side
    }

    /// The titles of the columns that are not empty.
    pub(crate) fn titles(&self) -> Vec<&str> {
        self.titles_of(&self.with_content())
    }

    fn titles_of(&self, columns: &[usize]) -> Vec<&str> {
        columns.iter().map(|&column| self.columns[column].title.as_str()).collect()
    }

    /// Leaves only the first rows. How many there were.
    pub(crate) fn truncate(&mut self, most: usize) -> usize {
        let all = self.rows().count();
        let mut left = most;
        self.lines.retain(|line| match line {
            GridLine::Heading(_) => left > 0,
            GridLine::Cells(_) => {
                let is_kept = left > 0;
                left = left.saturating_sub(1);
                is_kept
            }
        });
        all
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// A heading for the rows that follow.
    pub(crate) fn heading(&mut self, text: &str) {
        self.lines.push(GridLine::Heading(text.to_string()));
    }

    pub(crate) fn row(&mut self, cells: Vec<GridCell>) {
        assert_eq!(cells.len(), self.columns.len(), "a row has a cell for each column");
        self.lines.push(GridLine::Cells(cells));
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<GridCell>> {
        self.lines.iter().filter_map(|line| match line {
            GridLine::Cells(cells) => Some(cells),
            GridLine::Heading(_) => None,
        })
    }

    /// The table in lines that fit, and the titles of the columns that it shows.
    pub(crate) fn render(&self, style: &Style) -> (String, Vec<&str>) {
        if !self.is_split {
            let (shown, gap) = self.fit(style.width);
            return (self.laid_out(&shown, gap, style), self.titles_of(&shown));
        }
        let parts = self.parts(style.width);
        (parts.iter().map(|shown| self.laid_out(shown, 2, style)).collect(), self.titles())
    }

    /// The columns of each table, the first column in all of them.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let all = self.with_content();
        let mut parts = vec![vec![all[0]]];
        for &column in &all[1..] {
            let part = parts.last_mut().expect("there is one from the start");
            part.push(column);
            if self.total(part, 2) > width && part.len() > 2 {
                part.pop();
                parts.push(vec![all[0], column]);
            }
        }
        parts
    }

    fn laid_out(&self, shown: &[usize], gap: usize, style: &Style) -> String {
        let ends = self.end_widths(shown, gap, style.width);
        let rows: Vec<GridLine> =
            self.lines.iter().flat_map(|line| unfold(line, shown, ends, style.width)).collect();

        let titles = self.titles_of(shown);
        let width = |index: usize| {
            let texts = rows.iter().filter_map(|row| match row {
                GridLine::Cells(cells) => Some(cells[index].width()),
                GridLine::Heading(_) => None,
            });
            texts.fold(titles[index].chars().count(), usize::max)
        };
        let widths: Vec<usize> = (0..shown.len()).map(width).collect();
        let aligned = |(index, text): (usize, &str)| match (self.side(shown[index]), widths[index])
        {
            (Align::Left, width) => format!("{text:<width$}"),
            (Align::Right, width) => format!("{text:>width$}"),
        };
        let line = |cells: Vec<String>| cells.join(&" ".repeat(gap)).trim_end().to_string();
        let title = line(titles.iter().copied().enumerate().map(aligned).collect());
        let mut out = style.paint(&title, Paint::Strong) + "\n";
        for row in &rows {
            let cell = |(index, cell): (usize, &GridCell)| {
                style.paint(&aligned((index, &cell.text)), cell.paint)
            };
            out.push_str(&match row {
                GridLine::Heading(text) => style.paint(text, Paint::Strong),
                GridLine::Cells(cells) => line(cells.iter().enumerate().map(cell).collect()),
            });
            out.push('\n');
        }
        out
    }

    /// The table as GitHub Markdown, with all columns that are not empty. Markdown tables have no
    /// headings between rows, so a heading becomes a row.
    pub(crate) fn markdown(&self) -> String {
        let shown = self.with_content();
        let row = |cell: &dyn Fn(usize) -> String| {
            let cells: Vec<String> = shown.iter().map(|&column| cell(column)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let side = |column| if self.side(column) == Align::Left { ":--" } else { "--:" };
        let mut out = row(&|column| inline(&self.columns[column].title));
        out.push_str(&row(&|column| side(column).to_string()));
        for line in &self.lines {
            out.push_str(&match line {
                GridLine::Cells(cells) => row(&|column| inline(&cells[column].text)),
                GridLine::Heading(text) => row(&|column| match column == shown[0] {
                    true => format!("**{}**", inline(text)),
                    false => String::new(),
                }),
            });
        }
        out
    }

    /// The columns to show, and the gap between them. Narrows the gap before it omits any column;
    /// always omits empty columns.
    fn fit(&self, width: usize) -> (Vec<usize>, usize) {
        let mut shown = self.with_content();
        while self.total(&shown, 2) > width {
            if self.total(&shown, 1) <= width {
                return (shown, 1);
            }
            let least =
                shown.iter().copied().filter(|&c| ![0, LAST].contains(&self.columns[c].rank));
            match least.max_by_key(|&column| self.columns[column].rank) {
                Some(least) => shown.retain(|&column| column != least),
                None => break,
            }
        }
        // The first column will be folded, but that may not be enough.
        let title = self.columns[shown[0]].title.chars().count();
        let first = self.column_width(shown[0]).min(FIRST_MIN).max(title);
        let folded = |shown: &[usize], gap| first + gap + self.total(&shown[1..], gap);
        if folded(&shown, 2) > width && folded(&shown, 1) > width {
            shown.retain(|&column| self.columns[column].rank != LAST);
        }
        let gap = if folded(&shown, 2) > width { 1 } else { 2 };
        (shown, gap)
    }

    /// The columns that are not empty, and those of rank 0 or [`LAST`].
    pub(crate) fn with_content(&self) -> Vec<usize> {
        let has_content = |column: &usize| {
            let rank = self.columns[*column].rank;
            [0, LAST].contains(&rank)
                || self.rows().any(|row| !["", NONE].contains(&row[*column].text.as_str()))
        };
        (0..self.columns.len()).filter(has_content).collect()
    }

    fn column_width(&self, column: usize) -> usize {
        let title = self.columns[column].title.chars().count();
        self.rows().map(|row| row[column].width()).fold(title, usize::max)
    }

    fn total(&self, shown: &[usize], gap: usize) -> usize {
        let content: usize = shown.iter().map(|&column| self.column_width(column)).sum();
        content + gap * shown.len().saturating_sub(1)
    }

    /// The maximum widths of the first and of the last column that leave enough for the others. The
    /// last one is folded only if that of the first is not enough.
    fn end_widths(&self, shown: &[usize], gap: usize, width: usize) -> [usize; 2] {
        let others = self.total(&shown[1..], gap) + gap;
        // A word is not folded.
        let words = |row: &Vec<GridCell>| {
            parts(&row[shown[0]], 0).iter().map(|part| part.chars().count()).max()
        };
        let longest = self.rows().filter_map(words).max().unwrap_or(0);
        let first = width.saturating_sub(others).max(FIRST_MIN).max(longest);
        let last = shown[shown.len() - 1];
        let over = (first.min(self.column_width(shown[0])) + others).saturating_sub(width);
        let title = self.columns[last].title.chars().count();
        let whole = self.column_width(last);
        let is_text = self.columns[last].side == Align::Left && shown.len() > 1;
        let folded = whole.saturating_sub(over).max(LAST_MIN).max(title);
        [first, if is_text { folded } else { whole }]
    }
}

/// The shown columns of a line; if the first or the last column is too wide, it continues on more
/// lines. Headings span the whole table.
fn unfold(line: &GridLine, shown: &[usize], ends: [usize; 2], width: usize) -> Vec<GridLine> {
    let cells = match line {
        GridLine::Cells(cells) => cells,
        GridLine::Heading(text) => {
            return fold(text, width).into_iter().map(GridLine::Heading).collect();
        }
    };
    let cells: Vec<&GridCell> = shown.iter().map(|&column| &cells[column]).collect();
    let [first, last] = [0, cells.len() - 1];
    let firsts = parts(cells[first], ends[0]);
    let lasts = if last == first { Vec::new() } else { parts(cells[last], ends[1]) };
    let line = |index: usize| {
        let cell = |(place, cell): (usize, &&GridCell)| {
            let text = match place {
                place if place == first => firsts.get(index).cloned(),
                place if place == last => lasts.get(index).cloned(),
                _ => Some(cell.text.clone()).filter(|_| index == 0),
            };
            GridCell::new(text.unwrap_or_default(), cell.paint)
        };
        GridLine::Cells(cells.iter().enumerate().map(cell).collect())
    };
    (0..firsts.len().max(lasts.len())).map(line).collect()
}

/// The lines of a cell of at most this width; all but the first are indented.
fn parts(cell: &GridCell, width: usize) -> Vec<String> {
    if cell.width() <= width {
        return vec![cell.text.clone()];
    }
    let indent = cell.text.chars().take_while(|c| *c == ' ').count();
    let parts = fold(&cell.text, width.saturating_sub(indent + 2));
    let indented = |(index, part): (usize, &String)| {
        let indent = if index == 0 { indent } else { indent + 2 };
        format!("{}{part}", " ".repeat(indent))
    };
    parts.iter().enumerate().map(indented).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid =
            Grid::new(vec![left("name", 0), right("few", 2), right("many", 0), left("none", 3)]);
        grid.heading("all of them");
        for (name, few) in [("one two three four five", "1 µs"), ("six", "20 µs")] {
            grid.row(
                [name, few, "123456789", NONE]
                    .map(|text| GridCell::new(text, Paint::Void))
                    .to_vec(),
            );
        }
        grid
    }

    fn check(width: usize, expected: &str) {
        assert_eq!(grid().render(&Style { colour: false, width }).0, expected);
    }

    #[test]
    fn the_least_important_columns_are_left_out() {
        check(
            80,
            "name                       few       many\n\
             all of them\n\
             one two three four five   1 µs  123456789\n\
             six                      20 µs  123456789\n",
        );
        check(
            35,
            "name                          many\n\
             all of them\n\
             one two three four five  123456789\n\
             six                      123456789\n",
        );
    }

    #[test]
    fn the_first_column_is_folded_when_nothing_else_helps() {
        check(
            28,
            "name                many\n\
             all of them\n\
             one two three  123456789\n  \
               four five\n\
             six            123456789\n",
        );
    }

    /// Figures are never folded, and words at the end only after those at the beginning.
    #[test]
    fn the_last_column_is_folded_when_the_first_is_not_enough() {
        let mut grid = Grid::new(vec![left("name", 0), right("many", 0), left("verdict", 0)]);
        let texts = ["one two three four five", "123456789", "cannot tell: needs 12 rounds"];
        grid.row(texts.map(|text| GridCell::new(text, Paint::Void)).to_vec());
        assert_eq!(
            grid.render(&Style { colour: false, width: 46 }).0,
            "name               many verdict\n\
             one two three 123456789 cannot tell:\n  \
               four five               needs 12 rounds\n"
        );
    }

    #[test]
    fn colours_do_not_change_the_layout() {
        let (plain, _) = grid().render(&Style { colour: false, width: 80 });
        let (colour, _) = grid().render(&Style { colour: true, width: 80 });
        assert_ne!(plain, colour);
        let mut stripped = String::new();
        for (index, piece) in colour.split("\x1b[").enumerate() {
            let text = if index == 0 { piece } else { piece.split_once('m').expect("ends in m").1 };
            stripped.push_str(text);
        }
        let trim = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trim(&stripped), trim(&plain));
    }
}
