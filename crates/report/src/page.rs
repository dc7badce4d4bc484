//! The HTML page.

use casement_spec::Cluster;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::run::{Change, HostRun, Run, StepRun, StepState};
use crate::time;
use crate::timeline::{color, timeline};
use crate::topology::topology;

/// A run as one HTML page. Without a cluster file it has no topology.
#[must_use]
pub fn page(run: &Run, cluster: Option<&Cluster>) -> String {
    let name = cluster.map_or("unknown cluster", |cluster| cluster.metadata.name.as_str());
    let title = format!("casement {}: {name}", run.verb);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                h1 { (title) }
                h2 { "Summary" }
                (summary(run))
                (failures(run))
                @if let Some(cluster) = cluster {
                    h2 { "Topology" }
                    (topology(cluster, run))
                }
                h2 { "Timeline" }
                (legend(run))
                (timeline(run))
                h2 { "Changes" }
                (objects(run))
                @for host in &run.hosts {
                    (host_steps(host))
                }
                // The data of the page, for programs.
                script type="application/json" id="run" { (PreEscaped(data(run))) }
            }
        }
    };
    markup.into_string()
}

fn summary(run: &Run) -> Markup {
    let changed: u32 = run.hosts.iter().map(|host| host.changed).sum();
    let failed = run.hosts.iter().filter(|it| it.error.is_some()).count();
    let outcome = match run.is_cut_off() {
        true => "incomplete",
        false => run.outcome.as_str(),
    };
    html! {
        p.summary {
            b class=(run.outcome) { (outcome) }
            @if run.is_cut_off() { " after " } @else { " in " }
            span #took { (time::duration(run.milliseconds)) }
            ": " span #hosts { (run.hosts.len()) } (plural(run.hosts.len(), " host")) ", "
            span #changed { (changed) } (plural(changed as usize, " change")) " on hosts, "
            span #objects { (run.objects.len()) } (plural(run.objects.len(), " cluster object")) " changed, "
            span #failed { (failed) } (plural(failed, " host")) " failed."
        }
        @if run.is_cut_off() {
            p { "There is no summary: the run was killed, or is still in progress. Run the same command again to resume." }
        }
        p.small { "Started " (run.began) " (UTC), casement " (run.version) "." }
    }
}

/// The colors of the timeline.
fn legend(run: &Run) -> Markup {
    let first = run.hosts.iter().max_by_key(|host| host.parts.len());
    let parts = first.map(|host| host.parts.as_slice()).unwrap_or_default();
    html! {
        p.small {
            @for part in parts {
                span class={ "key part-" (color(&part.name)) } {} " " (part.name) " "
            }
        }
    }
}

fn failures(run: &Run) -> Markup {
    html! {
        @for host in run.hosts.iter().filter(|host| host.error.is_some()) {
            div.failure {
                b { (host.name) }
                ": " (host.error.as_deref().unwrap_or_default())
                @for step in host.steps.iter().filter(|it| it.state == StepState::Failed) {
                    (failure(step))
                }
            }
        }
    }
}

fn failure(step: &StepRun) -> Markup {
    html! {
        @if let Some(failure) = &step.failure {
            p {
                code { (failure.code) } " in " code { (step.span.name) } ": " (failure.message)
                @if let Some(expected) = &failure.expected { br; "expected " code { (expected) } }
                @if let Some(found) = &failure.found { br; "found " code { (found) } }
                br; "help: " (failure.help)
            }
        }
    }
}

fn objects(run: &Run) -> Markup {
    html! {
        @if !run.objects.is_empty() {
            details open {
                summary { "Cluster objects (" (run.objects.len()) ")" }
                ul { @for object in &run.objects { li { code { (object) } } } }
            }
        }
    }
}

fn host_steps(host: &HostRun) -> Markup {
    html! {
        details {
            summary { (host.name) " (" (host.steps.len()) (plural(host.steps.len(), " step")) ")" }
            table {
                thead { tr { th { "Step" } th { "Stage" } th { "Status" } th { "Duration" } th { "Changes" } } }
                tbody {
                    @for step in &host.steps {
                        tr class=(label(step.state)) {
                            td { code { (step.span.name) } }
                            td { (step.part) }
                            td { (label(step.state)) }
                            td.number { (time::duration(step.span.to - step.span.from)) }
                            td { @for change in &step.changes { (field_change(change)) } }
                        }
                    }
                }
            }
        }
    }
}

fn field_change(change: &Change) -> Markup {
    html! {
        div {
            (change.field) ": "
            @if let Some(before) = &change.before { del { (before) } " → " }
            @if let Some(after) = &change.after { ins { (after) } } @else { "(none)" }
        }
    }
}

fn label(state: StepState) -> &'static str {
    match state {
        StepState::Begun => "incomplete",
        StepState::Changed => "changed",
        StepState::Removed => "removed",
        StepState::Failed => "failed",
        StepState::Skipped => "skipped",
    }
}

/// JSON that cannot close the script element around it.
fn data(run: &Run) -> String {
    // Only maps with non-string keys fail to serialize, and there are none.
    let json = serde_json::to_string(run).unwrap_or_default();
    json.replace('<', "\\u003c")
}

fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => noun.to_owned(),
        _ => format!("{noun}s"),
    }
}
