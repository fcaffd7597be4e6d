//! Prints curves as tables, and draws them as pictures (SVG) with logarithmic axes: there, what grows as a power is a
//! straight line.

use std::path::Path;

use plotters::prelude::*;

/// Values against numbers.
pub struct Curve {
    name: &'static str,
    /// Numbers in ascending order, and the value at each.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// A curve without points.
    pub fn new(name: &'static str) -> Self {
        Self { name, points: Vec::new() }
    }

    /// Whether the last step grew more than its number did. A tenth more is taken for noise.
    fn is_worse_than_linear(&self) -> bool {
        let [.., (x, y), (next_x, next_y)] = self.points[..] else { return false };
        next_y / y > 1.1 * next_x / x
    }
}

/// Curves against the same numbers.
pub struct Plot {
    /// The name of the picture's file, without its ending.
    pub name: &'static str,
    /// What the numbers count.
    pub against: &'static str,
    /// The unit of the values.
    pub unit: &'static str,
    /// The curves.
    pub curves: Vec<Curve>,
}

impl Plot {
    /// Prints the curves as a table.
    pub fn print(&self) {
        println!("\n| {} | {} |", self.against, self.names());
        println!("|---|{}", "---|".repeat(self.curves.len()));
        let Some(first) = self.curves.first() else { return };
        for (number, (x, _)) in first.points.iter().enumerate() {
            let values = self.curves.iter().filter_map(|curve| curve.points.get(number));
            let values: Vec<_> = values.map(|(_, y)| format!("{y:.1}")).collect();
            println!("| {x} | {} |", values.join(" | "));
        }
        for curve in self.curves.iter().filter(|curve| curve.is_worse_than_linear()) {
            println!("\nWORSE THAN LINEAR at the end: {} against {}", curve.name, self.against);
        }
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.curves.iter().map(|curve| curve.name).collect();
        names.join(" | ")
    }

    /// Writes the picture into this folder.
    pub fn write(&self, folder: &Path) {
        let file = folder.join(format!("{}.svg", self.name));
        self.draw(&file).expect("a picture can be drawn");
    }

    fn draw(&self, file: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let bounds = |of: fn(&(f64, f64)) -> f64| {
            let least = points().map(of).fold(f64::INFINITY, f64::min);
            let most = points().map(of).fold(0.0, f64::max);
            (least / 1.3..most * 1.5).log_scale()
        };
        let picture = SVGBackend::new(file, (640, 400)).into_drawing_area();
        picture.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&picture)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(bounds(|(x, _)| *x), bounds(|(_, y)| *y))?;
        chart
            .configure_mesh()
            .x_desc(self.against)
            .y_desc(self.unit)
            .label_style(("sans-serif", 13))
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (curve, color) in self.curves.iter().zip([BLUE, RED]) {
            let line = LineSeries::new(curve.points.iter().copied(), color.stroke_width(2));
            chart.draw_series(line.point_size(4))?.label(curve.name).legend(move |(x, y)| {
                Rectangle::new([(x, y - 2), (x + 16, y + 2)], color.filled())
            });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(("sans-serif", 13))
            .background_style(WHITE)
            .border_style(BLACK)
            .draw()?;
        picture.present()?;
        Ok(())
    }
}
