//! Route commands in scripts.

use std::net::IpAddr;

use casement_diag::Diagnostic;
use ipnet::{IpNet, Ipv4Net};

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[rule!("CAS-NET-036", Warning, Files, "L015, C7", next_hop)];

fn next_hop(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for command in &context.commands {
        let Some((network, hop)) = command.text().and_then(route) else {
            continue;
        };
        if !network.contains(&hop) {
            continue;
        }
        let message =
            format!("the next hop {hop} is inside {network}, the destination of the route");
        findings.push(
            command
                .warning(message)
                .note("without an address in that network, a host reaches the next hop only if a node on the same segment answers for it")
                .help(format!("use the address of the node that has {network}")),
        );
    }
    findings
}

/// Network and next hop of a Linux or Windows command that adds a route; `None` for
/// all other lines.
fn route(line: &str) -> Option<(IpNet, IpAddr)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is = |word: &str| words.iter().any(|other| other.eq_ignore_ascii_case(word));
    let adds = is("New-NetRoute") || (is("route") && (is("add") || is("replace")));
    if !adds {
        return None;
    }
    let masked = words.windows(3).find(|words| {
        words
            .get(1)
            .is_some_and(|word| word.eq_ignore_ascii_case("mask"))
    });
    let (network, mask) = match masked {
        Some([address, _, mask]) => {
            let mask: std::net::Ipv4Addr = mask.parse().ok()?;
            let net = Ipv4Net::with_netmask(address.parse().ok()?, mask).ok()?;
            (IpNet::V4(net), Some(IpAddr::V4(mask)))
        }
        _ => (
            words.iter().find_map(|word| word.parse::<IpNet>().ok())?,
            None,
        ),
    };
    let mut addresses = words.iter().filter_map(|word| word.parse::<IpAddr>().ok());
    let hop = addresses.rfind(|address| *address != network.addr() && Some(*address) != mask)?;
    (network.prefix_len() > 0 && !hop.is_unspecified()).then_some((network, hop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_commands_are_parsed_in_every_form() {
        let expected = Some((
            "10.244.1.0/24".parse().unwrap(),
            "10.3.0.4".parse().unwrap(),
        ));
        for line in [
            "ip route add 10.244.1.0/24 via 10.3.0.4",
            "ip route replace 10.244.1.0/24 via 10.3.0.4 dev eth0",
            "route add 10.244.1.0 mask 255.255.255.0 10.3.0.4 if 12 -p",
            "route -p ADD 10.244.1.0 MASK 255.255.255.0 10.3.0.4",
            "netsh interface ipv4 add route 10.244.1.0/24 12 10.3.0.4",
            "New-NetRoute -DestinationPrefix 10.244.1.0/24 -ifIndex 12 -NextHop 10.3.0.4",
        ] {
            assert_eq!(route(line), expected, "{line}");
        }
        for line in [
            "ip route add 10.244.1.0/24 via <IP of Win01 host>",
            "ip route show",
            "route print 10.244.1.0",
            "ip addr add 10.3.0.4/24 dev eth0",
        ] {
            assert_eq!(route(line), None, "{line}");
        }
    }
}
