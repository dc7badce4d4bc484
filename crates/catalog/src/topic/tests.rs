use std::collections::BTreeSet;

use super::*;
use crate::{
    CONTAINERD_FOR, Minor, Minors, PAUSES, SUPPORT, containerd_for, pause, windows_of_build,
};

#[test]
fn every_row_has_a_source() {
    for topic in Topic::ALL {
        let table = topic.table();
        assert_eq!(table.columns.last(), Some(&"source"), "{}", topic.name());
        assert!(!table.rows.is_empty(), "{}", topic.name());
        for row in &table.rows {
            assert_eq!(row.len(), table.columns.len(), "{row:?}");
            let source = row.last().unwrap();
            assert!(source.len() > 5, "{} has no source: {row:?}", topic.name());
        }
    }
}

#[test]
fn rows_and_topic_names_are_unique() {
    let mut names = BTreeSet::new();
    for topic in Topic::ALL {
        assert!(names.insert(topic.name()));
        assert_eq!(Topic::from_name(topic.name()), Some(*topic));
        let rows = topic.table().rows;
        let distinct: BTreeSet<_> = rows.iter().collect();
        assert_eq!(distinct.len(), rows.len(), "{}", topic.name());
    }
    assert_eq!(Topic::from_name("nothing"), None);
}

#[test]
fn release_ranges_do_not_overlap_and_have_no_gap() {
    let spans: [(&str, Vec<Minors>); 3] = [
        ("pause", PAUSES.iter().map(|row| row.minors).collect()),
        ("kubernetes", SUPPORT.iter().map(|row| row.minors).collect()),
        (
            "containerd",
            CONTAINERD_FOR.iter().map(|row| row.minors).collect(),
        ),
    ];
    for (table, spans) in spans {
        for minor in Minor::covered() {
            let count = spans.iter().filter(|span| span.contains(minor)).count();
            assert_eq!(count, 1, "{count} rows of `{table}` for {minor}");
        }
    }
}

#[test]
fn every_covered_release_has_a_pause_a_containerd_and_a_windows() {
    for minor in Minor::covered() {
        let supported = SUPPORT.iter().find(|row| row.minors.contains(minor));
        let supported = supported.expect("a row").builds;
        assert!(!supported.is_empty());
        assert!(containerd_for(minor).is_some());
        let pause = pause(minor).expect("a pause image");
        for build in supported {
            assert!(windows_of_build(*build).is_some(), "{build}");
            let runs = pause
                .builds
                .iter()
                .any(|image| crate::image_fit(*build, *image) == crate::ImageFit::Runs);
            assert!(
                runs,
                "pause {} of {minor} does not run on {build}",
                pause.tag
            );
        }
    }
}

#[test]
fn json_keys_are_the_headings_in_camel_case() {
    assert_eq!(field("source"), "source");
    assert_eq!(field("host build from"), "hostBuildFrom");
    assert_eq!(field("fixed by"), "fixedBy");
    assert_eq!(field("default"), "default");
}
