//! Lints and renders a cluster of N hosts: `offline N`; `offline file N` prints its
//! cluster file.

use std::process::ExitCode;

use casement_bench::{cluster_file, lint, read, render_all};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = words.last().and_then(|word| word.parse().ok());
    match (words.len(), number) {
        (2, Some(hosts)) if words[0] == "file" => print!("{}", cluster_file(hosts)),
        (1, Some(hosts)) => {
            let file = cluster_file(hosts);
            let findings = lint(&file);
            let (cluster, facts) = read(&file);
            let files = render_all(&cluster, &facts);
            let bytes: usize = files.iter().map(|file| file.text.len()).sum();
            println!("{findings} findings, {} files, {bytes} bytes", files.len());
        }
        _ => {
            eprintln!("usage: offline [file] N");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
