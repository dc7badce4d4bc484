//! The page.

use casement_spec::Cluster;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::run::{Change, HostRun, Run, StepRun, StepState};
use crate::time;
use crate::timeline::{colour, timeline};
use crate::topology::topology;

/// Everything about a run, as one HTML file. Without a cluster file there is no
/// picture of the cluster.
#[must_use]
pub fn page(run: &Run, cluster: Option<&Cluster>) -> String {
    let name = cluster.map_or("a cluster", |cluster| cluster.metadata.name.as_str());
    let title = format!("casement {} of {name}", run.verb);
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
                (summary(run))
                (failures(run))
                @if let Some(cluster) = cluster {
                    h2 { "Cluster" }
                    (topology(cluster, run))
                }
                h2 { "When" }
                (legend(run))
                (timeline(run))
                h2 { "What changed" }
                (objects(run))
                @for host in &run.hosts {
                    (host_steps(host))
                }
                // The same in numbers, for programs.
                script type="application/json" id="run" { (PreEscaped(data(run))) }
            }
        }
    };
    markup.into_string()
}

fn summary(run: &Run) -> Markup {
    let changed: u32 = run.hosts.iter().map(|host| host.changed).sum();
    let failed = run.hosts.iter().filter(|it| it.error.is_some()).count();
    html! {
        p.summary {
            b class=(run.outcome) { (run.outcome) }
            @if run.is_cut_off() { " after " } @else { " in " }
            span #took { (time::words(run.milliseconds)) }
            ": " span #hosts { (run.hosts.len()) } " hosts, "
            span #changed { (changed) } " things changed on them, "
            span #objects { (run.objects.len()) } " objects of the cluster, "
            span #failed { (failed) } @if failed == 1 { " host failed." } @else { " hosts failed." }
        }
        @if run.is_cut_off() {
            p { "It left no summary: it was killed, or is still at work. The same command goes on from there." }
        }
        p.small { "Began " (run.began) " (UTC), casement " (run.version) "." }
    }
}

/// What the colours of the timeline stand for.
fn legend(run: &Run) -> Markup {
    let first = run.hosts.iter().max_by_key(|host| host.parts.len());
    let parts = first.map(|host| host.parts.as_slice()).unwrap_or_default();
    html! {
        p.small {
            @for part in parts {
                span class={ "key part-" (colour(&part.name)) } {} " " (part.name) " "
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
                code { (failure.code) } " in " code { (step.span.name) } ": " (failure.what)
                @if let Some(wanted) = &failure.wanted { br; "wanted " code { (wanted) } }
                @if let Some(found) = &failure.found { br; "found " code { (found) } }
                br; "remedy: " (failure.remedy)
            }
        }
    }
}

fn objects(run: &Run) -> Markup {
    html! {
        @if !run.objects.is_empty() {
            details open {
                summary { "Objects of the cluster (" (run.objects.len()) ")" }
                ul { @for object in &run.objects { li { code { (object) } } } }
            }
        }
    }
}

fn host_steps(host: &HostRun) -> Markup {
    html! {
        details {
            summary { (host.name) " (" (host.steps.len()) " steps)" }
            table {
                thead { tr { th { "Step" } th { "Part" } th { "How" } th { "Took" } th { "Change" } } }
                tbody {
                    @for step in &host.steps {
                        tr class=(word(step.state)) {
                            td { code { (step.span.name) } }
                            td { (step.part) }
                            td { (word(step.state)) }
                            td.number { (time::words(step.span.to - step.span.from)) }
                            td { @for change in &step.changes { (one(change)) } }
                        }
                    }
                }
            }
        }
    }
}

fn one(change: &Change) -> Markup {
    html! {
        div {
            (change.field) ": "
            @if let Some(before) = &change.before { del { (before) } " → " }
            @if let Some(after) = &change.after { ins { (after) } } @else { "nothing" }
        }
    }
}

fn word(state: StepState) -> &'static str {
    match state {
        StepState::Begun => "begun",
        StepState::Changed => "changed",
        StepState::Removed => "removed",
        StepState::Failed => "failed",
        StepState::Skipped => "left out",
    }
}

/// JSON that cannot end the element which holds it.
fn data(run: &Run) -> String {
    // Only maps with odd keys cannot be written, and there are none.
    let json = serde_json::to_string(run).unwrap_or_default();
    json.replace('<', "\\u003c")
}
