//! The difference between two texts, line by line.

/// A line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLine<'t> {
    /// Unchanged.
    Same(&'t str),
    /// Removed.
    Old(&'t str),
    /// Added.
    New(&'t str),
    /// Unchanged lines that are not shown.
    Gap,
}

/// How many unchanged lines are shown around changed ones.
const AROUND: usize = 3;

/// The size of the largest table. For larger texts, the middle is shown as replaced.
const LARGEST: usize = 4_000_000;

/// The changed lines, with a few around them.
pub fn diff<'t>(before: &'t str, after: &'t str) -> Vec<DiffLine<'t>> {
    let all = all(before, after);
    let is_change = |line: &DiffLine<'_>| matches!(line, DiffLine::Old(_) | DiffLine::New(_));
    let near = |at: usize| {
        let range = at.saturating_sub(AROUND)..(at + AROUND + 1).min(all.len());
        all.get(range).is_some_and(|lines| lines.iter().any(is_change))
    };
    let mut shown = Vec::new();
    for (at, line) in all.iter().enumerate() {
        if near(at) {
            shown.push(*line);
        } else if shown.last() != Some(&DiffLine::Gap) {
            shown.push(DiffLine::Gap);
        }
    }
    if shown.iter().any(is_change) { shown } else { Vec::new() }
}

fn all<'t>(before: &'t str, after: &'t str) -> Vec<DiffLine<'t>> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let old_middle = old_rest.get(..old_rest.len() - tail).unwrap_or_default();
    let new_middle = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let mut all: Vec<DiffLine<'_>> = old.iter().take(head).map(|line| DiffLine::Same(line)).collect();
    all.extend(middle(old_middle, new_middle));
    all.extend(old_rest.iter().skip(old_middle.len()).map(|line| DiffLine::Same(line)));
    all
}

/// The longest common subsequence of two short lists of lines.
fn middle<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<DiffLine<'t>> {
    let width = new.len() + 1;
    if old.len().saturating_add(1).saturating_mul(width) > LARGEST {
        let gone = old.iter().map(|line| DiffLine::Old(line));
        return gone.chain(new.iter().map(|line| DiffLine::New(line))).collect();
    }
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    let at = |longest: &[u32], i: usize, j: usize| longest.get(i * width + j).copied().unwrap_or_default();
    for (i, line) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let value = if line == other {
                at(&longest, i + 1, j + 1) + 1
            } else {
                at(&longest, i + 1, j).max(at(&longest, i, j + 1))
            };
            if let Some(cell) = longest.get_mut(i * width + j) {
                *cell = value;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    loop {
        match (old.get(i), new.get(j)) {
            (Some(line), Some(other)) if line == other => {
                lines.push(DiffLine::Same(line));
                i += 1;
                j += 1;
            }
            (Some(line), other) if other.is_none() || at(&longest, i + 1, j) >= at(&longest, i, j + 1) => {
                lines.push(DiffLine::Old(line));
                i += 1;
            }
            (_, Some(other)) => {
                lines.push(DiffLine::New(other));
                j += 1;
            }
            (_, None) => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_context() {
        let before: String = (0..20).map(|at| format!("{at}\n")).collect();
        let after = before.replace("10\n", "ten\nand\n").replace("0\n1\n", "1\n");
        let shown = diff(&before, &after);
        assert_eq!(shown.iter().filter(|line| matches!(line, DiffLine::Old(_))).count(), 2);
        assert_eq!(shown.iter().filter(|line| matches!(line, DiffLine::New(_))).count(), 2);
        assert_eq!(shown.iter().filter(|line| matches!(line, DiffLine::Gap)).count(), 2);
        assert!(diff(&before, &before).is_empty());
        assert_eq!(diff("", "a\n"), [DiffLine::New("a\n")]);
        assert_eq!(diff("a", "a\n"), [DiffLine::Old("a"), DiffLine::New("a\n")]);
    }
}
