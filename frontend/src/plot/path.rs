//! Coordinates to SVG path text: one path per series, however many samples it has.

/// A dot per point: strokes of no length, which round or square line caps make visible at any scale.
pub(crate) fn dots(points: impl IntoIterator<Item = (u64, u64)>) -> String {
    let mut text = String::new();
    for point in points {
        push(&mut text, 'M', point);
        text.push_str("h0");
    }
    text
}

/// A line through the points.
pub(crate) fn line(points: impl IntoIterator<Item = (u64, u64)>) -> String {
    let mut text = String::new();
    for point in points {
        let command = if text.is_empty() { 'M' } else { 'L' };
        push(&mut text, command, point);
    }
    text
}

fn push(text: &mut String, command: char, (x, y): (u64, u64)) {
    text.push(command);
    text.push_str(&x.to_string());
    text.push(' ');
    text.push_str(&y.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_one_path() {
        assert_eq!(dots([(1, 2), (30, 4)]), "M1 2h0M30 4h0");
        assert_eq!(line([(1, 2), (30, 4), (5, 6)]), "M1 2L30 4L5 6");
        assert_eq!(line([]), "");
    }
}
