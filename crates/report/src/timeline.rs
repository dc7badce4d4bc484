//! The timeline as SVG, with one lane per host.

use maud::{Markup, html};

use crate::run::{HostRun, Run, Span, StepState};
use crate::time;

const WIDTH: u64 = 960;
const LEFT: u64 = 130;
const LANE: u64 = 34;
const TOP: u64 = 26;

pub fn timeline(run: &Run) -> Markup {
    let scale = Scale {
        end: run.end().max(1),
    };
    let lanes = run.hosts.len() as u64;
    let height = TOP + lanes * LANE + 6;
    html! {
        svg.timeline viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label="Timeline of each host" {
            @for tick in scale.ticks() {
                @let x = scale.x(tick);
                line.tick x1=(x) y1=(TOP - 6) x2=(x) y2=(height - 6) {}
                text.time x=(x) y="14" { (time::duration(tick)) }
            }
            @for (index, host) in (0_u64..).zip(&run.hosts) {
                (lane(host, TOP + index * LANE, &scale))
            }
        }
    }
}

/// A stage has the same color on every host.
pub fn color(part: &str) -> usize {
    match part {
        "join" => 1,
        "network" => 2,
        _ => 0,
    }
}

fn lane(host: &HostRun, y: u64, scale: &Scale) -> Markup {
    html! {
        text.name x="0" y=(y + 20) { (host.name) }
        @for part in &host.parts {
            (bar(part, &format!("part part-{}", color(&part.name)), y + 2, LANE - 8, scale))
        }
        @for step in &host.steps {
            @let class = if step.state == StepState::Failed { "step failed" } else { "step" };
            (bar(&step.span, class, y + 8, LANE - 20, scale))
        }
    }
}

fn bar(span: &Span, class: &str, y: u64, height: u64, scale: &Scale) -> Markup {
    let x = scale.x(span.from);
    let width = scale.x(span.to).saturating_sub(x).max(2);
    let duration = time::duration(span.to.saturating_sub(span.from));
    html! {
        rect class=(class) x=(x) y=(y) width=(width) height=(height) rx="2" {
            title { (span.name) ", " (duration) }
        }
    }
}

struct Scale {
    end: u64,
}

impl Scale {
    fn x(&self, at: u64) -> u64 {
        LEFT + at.min(self.end) * (WIDTH - LEFT - 40) / self.end
    }

    /// At most nine ticks at round times.
    fn ticks(&self) -> impl Iterator<Item = u64> {
        const ROUND: [u64; 10] = [
            100, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000,
        ];
        let fits = |step: &&u64| self.end / **step <= 8;
        let step = ROUND.iter().find(fits).copied().unwrap_or(3_600_000);
        (0..=self.end / step).map(move |tick| tick * step)
    }
}
