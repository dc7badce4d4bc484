//! Routes.
//!
//! To Windows two routes differ by destination, gateway or interface, to Linux
//! by destination and metric; `ip route append` lets Linux have both of two
//! routes that differ in their gateway alone.

use std::net::IpAddr;

use lab_wire::Failure;
use lab_wire::adapter::Route;
use serde::Deserialize;

use super::ip::{self, Link};
use super::{exists, invalid, not_found};

/// As `ip -j route` shows one.
#[derive(Debug, Deserialize)]
struct Shown {
    dst: String,
    gateway: Option<IpAddr>,
    dev: Option<String>,
    #[serde(default)]
    metric: u32,
}

/// Adds a route that is not there.
pub fn create(route: &Route) -> Result<(), Failure> {
    let link = check(route)?;
    match find(route, &link)? {
        Some(_) => Err(exists(format!(
            "the route to {} is there",
            destination(route)
        ))),
        None => write("append", route, &link, route.metric),
    }
}

/// Gives a route that is there another metric.
pub fn set(route: &Route) -> Result<(), Failure> {
    let link = check(route)?;
    let metric = present(route, &link)?;
    if metric == route.metric {
        return Ok(());
    }
    write("append", route, &link, route.metric)?;
    write("del", route, &link, metric)
}

/// Removes a route that is there.
pub fn delete(route: &Route) -> Result<(), Failure> {
    let link = check(route)?;
    let metric = present(route, &link)?;
    write("del", route, &link, metric)
}

fn check(route: &Route) -> Result<Link, Failure> {
    let longest = if route.destination.is_ipv4() { 32 } else { 128 };
    if route.prefix_length > longest || route.destination.is_ipv4() != route.next_hop.is_ipv4() {
        return Err(invalid(format!("{route:?} is no route")));
    }
    ip::link(route.interface)
}

fn present(route: &Route, link: &Link) -> Result<u32, Failure> {
    find(route, link)?
        .ok_or_else(|| not_found(format!("there is no route to {}", destination(route))))
}

/// The metric of a route, if it is there.
fn find(route: &Route, link: &Link) -> Result<Option<u32>, Failure> {
    let routes: Vec<Shown> = ip::show(&[ip::family(route.destination), "route", "show"])?;
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

impl Shown {
    /// `ip` writes `default`, and leaves out the length of a single address.
    fn is_to(&self, route: &Route) -> bool {
        let (address, length) = match self.dst.split_once('/') {
            Some((address, length)) => (address, length.parse().ok()),
            None if self.dst == "default" => {
                return route.destination.is_unspecified() && route.prefix_length == 0;
            }
            None => (self.dst.as_str(), None),
        };
        let whole = if route.destination.is_ipv4() { 32 } else { 128 };
        address.parse() == Ok(route.destination) && length.unwrap_or(whole) == route.prefix_length
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

    fn shown(dst: &str) -> Shown {
        serde_json::from_str(&format!(r#"{{"dst":"{dst}","dev":"Ethernet"}}"#)).unwrap()
    }

    #[test]
    fn destinations_are_read_as_ip_writes_them() {
        assert!(shown("10.0.0.0/24").is_to(&route("10.0.0.0", 24)));
        assert!(shown("10.0.0.7").is_to(&route("10.0.0.7", 32)));
        assert!(shown("default").is_to(&route("0.0.0.0", 0)));
        assert!(!shown("10.0.0.0/24").is_to(&route("10.0.0.0", 16)));
        assert!(!shown("default").is_to(&route("10.0.0.0", 24)));
    }

    #[test]
    fn families_must_agree() {
        let mut mixed = route("10.0.0.0", 24);
        mixed.next_hop = "fd00::1".parse().unwrap();
        assert_eq!(create(&mixed).unwrap_err().code, 87);
        assert_eq!(create(&route("10.0.0.0", 33)).unwrap_err().code, 87);
    }
}
