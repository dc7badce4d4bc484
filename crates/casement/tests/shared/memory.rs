//! The in-memory contents of simulated hosts, for the search for secrets.

use casement_node::sim::SimEntry;
use casement_sim::SimHost;

use crate::secret_search::SearchTarget;

/// Each file by its path, and one text with the rest of the host's state.
pub fn texts(host: &SimHost) -> Vec<(String, String)> {
    let name = &host.spec().name;
    let mut world = host.sim().world();
    let entries = std::mem::take(&mut world.entries);
    let files = entries.into_iter().filter_map(|(path, (thing, _))| {
        let SimEntry::File(bytes) = thing else {
            return None;
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some((format!("{name} {path}"), text))
    });
    let mut texts: Vec<_> = files.collect();
    let rest = format!("{world:?} {:?}", host.sim().notices());
    texts.push((format!("{name} settings"), rest));
    texts
}

/// The log file of a service.
pub fn log<'a>(host: &'a SimHost, service: &str) -> SearchTarget<'a> {
    let path = format!(r"C:\var\log\{service}\{service}.log");
    let host_path: casement_resource::HostPath = path.parse().unwrap();
    let insert_path = host_path.clone();
    let put = move |text: &str| {
        let file = SimEntry::File(text.as_bytes().to_vec());
        let entry = (file, "everybody".to_owned());
        host.sim().modify_world(|world| {
            world.entries.insert(insert_path.clone(), entry);
        });
    };
    let clear = move || {
        host.sim().modify_world(|world| {
            world.entries.remove(&host_path);
        });
    };
    SearchTarget {
        name: path,
        put: Box::new(put),
        clear: Box::new(clear),
    }
}
