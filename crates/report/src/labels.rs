//! Names beside the lines they belong to, where there is room.

/// A point on the picture, in pixels.
pub(crate) type Pixel = (f64, f64);

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn within(&self, other: &Self) -> bool {
        self.left >= other.left
            && self.right <= other.right
            && self.top >= other.top
            && self.bottom <= other.bottom
    }

    /// Does the straight line from `a` to `b` pass through? By cutting it at the four edges
    /// (Liang and Barsky).
    fn crossed(&self, a: Pixel, b: Pixel) -> bool {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        for (delta, distance) in [
            (-dx, a.0 - self.left),
            (dx, self.right - a.0),
            (-dy, a.1 - self.top),
            (dy, self.bottom - a.1),
        ] {
            if delta == 0.0 {
                if distance < 0.0 {
                    return false;
                }
            } else if delta < 0.0 {
                enter = enter.max(distance / delta);
            } else {
                leave = leave.min(distance / delta);
            }
        }
        enter <= leave
    }
}

/// A place for each label of this width and height, beside its own line, on no line and no other
/// label, inside `plot`. `None` where one of them finds no place: then a legend must do.
pub(crate) fn place(
    lines: &[Vec<Pixel>],
    widths: &[f64],
    height: f64,
    plot: Frame,
) -> Option<Vec<Frame>> {
    let mut placed: Vec<Frame> = Vec::new();
    for (own, &width) in lines.iter().zip(widths) {
        let best = candidates(own, width, height)
            .filter(|c| c.within(&plot) && !placed.iter().any(|p| p.overlaps(c)))
            .filter(|c| {
                !lines
                    .iter()
                    .any(|l| l.windows(2).any(|w| c.crossed(w[0], w[1])))
            })
            .max_by(|a, b| freedom(a, own, lines).total_cmp(&freedom(b, own, lines)))?;
        placed.push(best);
    }
    Some(placed)
}

/// How much farther the nearest foreign line is than needed to see whose label it is.
fn freedom(label: &Frame, own: &[Pixel], lines: &[Vec<Pixel>]) -> f64 {
    let centre = (
        (label.left + label.right) / 2.0,
        (label.top + label.bottom) / 2.0,
    );
    let foreign = lines
        .iter()
        .filter(|line| !std::ptr::eq(line.as_slice(), own));
    let nearest = foreign
        .flat_map(|line| line.windows(2))
        .map(|w| distance(centre, w[0], w[1]))
        .fold(f64::MAX, f64::min);
    nearest.min(60.0)
}

fn distance(p: Pixel, a: Pixel, b: Pixel) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 {
        (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (p.0 - a.0 - along * dx).hypot(p.1 - a.1 - along * dy)
}

/// Places around 24 points of a line: right and left of it, above and below.
fn candidates(line: &[Pixel], width: f64, height: f64) -> impl Iterator<Item = Frame> + '_ {
    const GAP: f64 = 7.0;
    let middles = line
        .windows(2)
        .map(|w| ((w[0].0 + w[1].0) / 2.0, (w[0].1 + w[1].1) / 2.0));
    let middles: Vec<Pixel> = middles.collect();
    let every = middles.len().div_ceil(24).max(1);
    middles.into_iter().step_by(every).flat_map(move |(x, y)| {
        let sides = [
            (x + GAP, y - height / 2.0),
            (x - GAP - width, y - height / 2.0),
            (x - width / 2.0, y - GAP - height),
            (x - width / 2.0, y + GAP),
            (x + GAP, y - GAP - height),
            (x + GAP, y + GAP),
            (x - GAP - width, y - GAP - height),
            (x - GAP - width, y + GAP),
        ];
        sides.map(|(left, top)| Frame {
            left,
            top,
            right: left + width,
            bottom: top + height,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Frame = Frame {
        left: 0.0,
        top: 0.0,
        right: 300.0,
        bottom: 200.0,
    };

    #[test]
    fn beside_its_line_and_on_nothing() {
        let lines = vec![
            vec![(10.0, 10.0), (100.0, 20.0), (140.0, 190.0)],
            vec![(10.0, 10.0), (200.0, 20.0), (290.0, 190.0)],
        ];
        let placed = place(&lines, &[60.0, 60.0], 14.0, PLOT).expect("there is room");
        assert!(!placed[0].overlaps(&placed[1]));
        for label in &placed {
            assert!(label.within(&PLOT));
            assert!(
                !lines
                    .iter()
                    .any(|l| l.windows(2).any(|w| label.crossed(w[0], w[1])))
            );
        }
    }

    #[test]
    fn gives_up_where_there_is_no_room() {
        let lines = vec![vec![(0.0, 100.0), (300.0, 100.0)]];
        assert_eq!(place(&lines, &[400.0], 14.0, PLOT), None);
        assert_eq!(place(&[vec![]], &[10.0], 14.0, PLOT), None);
    }

    #[test]
    fn crossing() {
        let frame = Frame {
            left: 10.0,
            top: 10.0,
            right: 20.0,
            bottom: 20.0,
        };
        assert!(frame.crossed((0.0, 0.0), (30.0, 30.0)));
        assert!(frame.crossed((15.0, 0.0), (15.0, 30.0)));
        assert!(!frame.crossed((0.0, 25.0), (30.0, 25.0)));
        assert!(!frame.crossed((0.0, 12.0), (9.0, 12.0)));
    }
}
