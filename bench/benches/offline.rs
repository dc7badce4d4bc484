//! Lint and render by number of hosts.

#![allow(
    missing_docs,
    reason = "the criterion macros generate undocumented functions"
)]

use casement_bench::{cluster_file, lint, load, render_all};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn offline(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("offline");
    group.sample_size(10);
    for hosts in [10_u32, 100, 1_000, 10_000] {
        group.throughput(Throughput::Elements(u64::from(hosts)));
        let file = cluster_file(hosts as usize);
        group.bench_function(BenchmarkId::new("lint", hosts), |bencher| {
            bencher.iter(|| lint(&file));
        });
        let (cluster, facts) = load(&file);
        group.bench_function(BenchmarkId::new("render", hosts), |bencher| {
            bencher.iter(|| render_all(&cluster, &facts));
        });
    }
    group.finish();
}

criterion_group!(benches, offline);
criterion_main!(benches);
