//! Adds, changes and removes routes.
//!
//! Windows identifies a route by destination, gateway and interface, Linux by
//! destination and metric. `ip route append` allows routes that differ only in the
//! gateway.

use std::net::IpAddr;

use lab_wire::Failure;
use lab_wire::adapter::Route;
use serde::Deserialize;

use super::ip::{self, Link};
use super::{exists, invalid, not_found};

/// An entry of `ip -j route`.
#[derive(Debug, Deserialize)]
struct LinuxRoute {
    dst: String,
    gateway: Option<IpAddr>,
    dev: Option<String>,
    #[serde(default)]
    metric: u32,
}

/// Fails if the route exists.
pub fn create(route: &Route) -> Result<(), Failure> {
    let link = check(route)?;
    match find(route, &link)? {
        Some(_) => Err(exists(format!(
            "a route to {} already exists",
            destination(route)
        ))),
        None => write("append", route, &link, route.metric),
    }
}

/// Changes the metric of an existing route.
pub fn set(route: &Route) -> Result<(), Failure> {
    let link = check(route)?;
    let metric = find_existing(route, &link)?;
    if metric == route.metric {
        return Ok(());
    }
    write("append", route, &link, route.metric)?;
    write("del", route, &link, metric)
}

/// Fails if the route does not exist.
pub fn delete(route: &Route) -> Result<(), Failure> {
    let link = check(route)?;
    let metric = find_existing(route, &link)?;
    write("del", route, &link, metric)
}

fn check(route: &Route) -> Result<Link, Failure> {
    let max_length = if route.destination.is_ipv4() { 32 } else { 128 };
    if route.prefix_length > max_length || route.destination.is_ipv4() != route.next_hop.is_ipv4() {
        return Err(invalid(format!("{route:?} is not a valid route")));
    }
    ip::link(route.interface)
}

fn find_existing(route: &Route, link: &Link) -> Result<u32, Failure> {
    find(route, link)?.ok_or_else(|| not_found(format!("no route to {}", destination(route))))
}

/// The metric of the route, if it exists.
fn find(route: &Route, link: &Link) -> Result<Option<u32>, Failure> {
    let routes: Vec<LinuxRoute> = ip::show(&[ip::family(route.destination), "route", "show"])?;
    let gateway = gateway(route);
    Ok(routes
        .into_iter()
        .find(|shown| {
            shown.is_to(route)
                && shown.gateway == gateway
                && shown.dev.as_deref() == Some(&link.ifname)
        })
        .map(|shown| shown.metric))
}

impl LinuxRoute {
    /// `ip` prints `default`, and a single address without its prefix length.
    fn is_to(&self, route: &Route) -> bool {
        let (address, length) = match self.dst.split_once('/') {
            Some((address, length)) => (address, length.parse().ok()),
            None if self.dst == "default" => {
                return route.destination.is_unspecified() && route.prefix_length == 0;
            }
            None => (self.dst.as_str(), None),
        };
        let full_length = if route.destination.is_ipv4() { 32 } else { 128 };
        address.parse() == Ok(route.destination)
            && length.unwrap_or(full_length) == route.prefix_length
    }
}

fn write(verb: &str, route: &Route, link: &Link, metric: u32) -> Result<(), Failure> {
    let (destination, metric) = (destination(route), metric.to_string());
    let family = ip::family(route.destination);
    let mut arguments = vec![family, "route", verb, &destination];
    let gateway = gateway(route).map(|gateway| gateway.to_string());
    if let Some(gateway) = &gateway {
        arguments.extend(["via", gateway]);
    }
    arguments.extend(["dev", &link.ifname, "metric", &metric]);
    ip::change(&arguments)
}

fn destination(route: &Route) -> String {
    format!("{}/{}", route.destination, route.prefix_length)
}

fn gateway(route: &Route) -> Option<IpAddr> {
    (!route.next_hop.is_unspecified()).then_some(route.next_hop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(destination: &str, prefix_length: u8) -> Route {
        Route {
            destination: destination.parse().unwrap(),
            prefix_length,
            next_hop: "0.0.0.0".parse().unwrap(),
            interface: 1,
            metric: 0,
        }
    }

    fn shown(dst: &str) -> LinuxRoute {
        serde_json::from_str(&format!(r#"{{"dst":"{dst}","dev":"Ethernet"}}"#)).unwrap()
    }

    #[test]
    fn destinations_match_the_output_of_ip() {
        assert!(shown("10.0.0.0/24").is_to(&route("10.0.0.0", 24)));
        assert!(shown("10.0.0.7").is_to(&route("10.0.0.7", 32)));
        assert!(shown("default").is_to(&route("0.0.0.0", 0)));
        assert!(!shown("10.0.0.0/24").is_to(&route("10.0.0.0", 16)));
        assert!(!shown("default").is_to(&route("10.0.0.0", 24)));
    }

    #[test]
    fn invalid_routes_are_rejected() {
        let mut mixed = route("10.0.0.0", 24);
        mixed.next_hop = "fd00::1".parse().unwrap();
        assert_eq!(create(&mixed).unwrap_err().code, 87);
        assert_eq!(create(&route("10.0.0.0", 33)).unwrap_err().code, 87);
    }
}
