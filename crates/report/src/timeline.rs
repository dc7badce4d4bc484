//! The timeline as SVG, with one lane per host.

use maud::{Markup, html};

use crate::run::{HostRun, Run, StepResult};
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
pub fn color(stage: &str) -> usize {
    match stage {
        "join" => 1,
        "network" => 2,
        _ => 0,
    }
}

struct Bar<'a> {
    name: &'a str,
    from: u64,
    to: u64,
    class: String,
    y: u64,
    height: u64,
}

fn lane(host: &HostRun, y: u64, scale: &Scale) -> Markup {
    let stages = host.stages.iter().map(|stage| Bar {
        name: &stage.name,
        from: stage.from,
        to: stage.to,
        class: format!("part part-{}", color(&stage.name)),
        y: y + 2,
        height: LANE - 8,
    });
    let names: Vec<String> = host.steps.iter().map(|run| run.step.identity()).collect();
    let steps = host.steps.iter().zip(&names).map(|(run, name)| Bar {
        name,
        from: run.from,
        to: run.to,
        class: match run.result {
            StepResult::Failed => "step failed".to_owned(),
            _ => "step".to_owned(),
        },
        y: y + 8,
        height: LANE - 20,
    });
    html! {
        text.name x="0" y=(y + 20) { (host.name) }
        @for bar in stages.chain(steps) { (rectangle(&bar, scale)) }
    }
}

fn rectangle(bar: &Bar<'_>, scale: &Scale) -> Markup {
    let x = scale.x(bar.from);
    let width = scale.x(bar.to).saturating_sub(x).max(2);
    let duration = time::duration(bar.to.saturating_sub(bar.from));
    html! {
        rect class=(bar.class) x=(x) y=(bar.y) width=(width) height=(bar.height) rx="2" {
            title { (bar.name) ", " (duration) }
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
