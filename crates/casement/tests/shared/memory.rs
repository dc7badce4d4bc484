//! What simulated hosts hold in memory, for the search for secrets.

use casement_node::sim::Thing;
use casement_sim::SimHost;

use crate::search::Place;

/// Each file of a host by its path, and everything else about it.
pub fn texts(host: &SimHost) -> Vec<(String, String)> {
    let name = &host.spec().name;
    let mut world = host.sim().world();
    let entries = std::mem::take(&mut world.entries);
    let files = entries.into_iter().filter_map(|(path, (thing, _))| {
        let Thing::File(bytes) = thing else {
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

/// The log of a service on a host, which has to be there for that.
pub fn log<'a>(host: &'a SimHost, service: &str) -> Place<'a> {
    let path = format!(r"C:\var\log\{service}\{service}.log");
    let place: casement_resource::HostPath = path.parse().unwrap();
    let at = place.clone();
    let put = move |text: &str| {
        let file = Thing::File(text.as_bytes().to_vec());
        let entry = (file, "everybody".to_owned());
        host.sim().meddle(|world| {
            world.entries.insert(at.clone(), entry);
        });
    };
    let clear = move || {
        host.sim().meddle(|world| {
            world.entries.remove(&place);
        });
    };
    Place {
        name: path,
        put: Box::new(put),
        clear: Box::new(clear),
    }
}
