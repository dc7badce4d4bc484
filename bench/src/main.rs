//! `offline N` lints and renders a cluster of N hosts; `offline file N` prints its
//! cluster file.

use std::process::ExitCode;

use casement_bench::{cluster_file, lint, load, render_all};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = args.last().and_then(|arg| arg.parse().ok());
    match (args.len(), number) {
        (2, Some(hosts)) if args[0] == "file" => print!("{}", cluster_file(hosts)),
        (1, Some(hosts)) => {
            let file = cluster_file(hosts);
            let findings = lint(&file);
            let (cluster, facts) = load(&file);
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
