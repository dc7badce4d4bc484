//! A platform that records its calls: which function was called by which test, and
//! which fake DLLs were involved. The coverage tables are generated from these
//! records.
//!
//! It changes no result and is not part of released agents.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use casement_resource::wire::{HostFacts, InterfaceFacts};
use casement_resource::{
    Access, Condition, ConditionFacts, DynamicPorts, DynamicPortsFacts, Enablement, FirewallRule,
    FirewallRuleFacts, HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, HostPath, HostnameFacts,
    InterfaceRef, KernelModuleFacts, LinkName, LinkType, ModuleName, ObservedAdapter, ObservedLink,
    ObservedService, ObservedUnit, PackageName, PackageVersion, Protocol, RegistryData, RouteEntry,
    ServiceDefinition, StartType, SwapArea, SysctlName, UnitName, WindowsFeatureFacts,
};
use ipnet::IpNet;
use serde_json::Value;

use crate::platform::{
    Balancer, Conditions, Download, Downloads, Entry, Environment, Features, Files, Firewall, Hns,
    Identity, Kernel, Layers, Level, Links, Network, NewEndpoint, OnData, Packages, Platform,
    Program, ProgramExit, Programs, Registry, Result, Services, Swaps, Units, WriteOptions,
};

/// Calls so far of each fake DLL in this process, by name.
pub type Counts = BTreeMap<String, u32>;

/// Function, then test, then the fakes involved.
pub type Calls = BTreeMap<&'static str, BTreeMap<String, BTreeSet<String>>>;

#[derive(Default)]
pub struct CallRecorder {
    calls: Mutex<Calls>,
    test_name: Mutex<String>,
    fakes: Option<Box<dyn Fn() -> Counts + Send + Sync>>,
}

impl CallRecorder {
    /// For a host some of whose calls end in fakes that count them.
    #[must_use]
    pub fn with_fakes(counts: impl Fn() -> Counts + Send + Sync + 'static) -> Self {
        Self {
            fakes: Some(Box::new(counts)),
            ..Self::default()
        }
    }

    /// Attributes all following calls to this test.
    pub fn begin(&self, test: &str) {
        test.clone_into(&mut lock(&self.test_name));
    }

    #[must_use]
    pub fn calls(&self) -> Calls {
        lock(&self.calls).clone()
    }

    fn counts(&self) -> Counts {
        self.fakes
            .as_ref()
            .map(|counts| counts())
            .unwrap_or_default()
    }

    fn record<T>(&self, function: &'static str, call: impl FnOnce() -> T) -> T {
        let before = self.counts();
        let result = call();
        let grown = |(name, count): &(String, u32)| before.get(name).unwrap_or(&0) < count;
        let fakes = self.counts().into_iter().filter(grown);
        let test = lock(&self.test_name).clone();
        let mut calls = lock(&self.calls);
        let tests = calls.entry(function).or_default();
        let seen = tests.entry(test).or_default();
        seen.extend(fakes.map(|(name, _)| name));
        result
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct RecordingPlatform<'a> {
    host: &'a dyn Platform,
    recorder: Arc<CallRecorder>,
}

impl<'a> RecordingPlatform<'a> {
    #[must_use]
    pub fn new(host: &'a dyn Platform, recorder: Arc<CallRecorder>) -> Self {
        Self { host, recorder }
    }
}

macro_rules! recorded {
    ($($concern:ident {
        $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $answer:ty)?;)*
    })*) => {
        $(impl $concern for RecordingPlatform<'_> {
            $(fn $name(&self, $($argument: $type),*) $(-> $answer)? {
                self.recorder.record(stringify!($name), || self.host.$name($($argument),*))
            })*
        })*

        /// Every function of the platform, by trait.
        pub const FUNCTIONS: &[(&str, &[&str])] = &[
            $((stringify!($concern), &[$(stringify!($name)),*]),)*
        ];
    };
}

recorded! {
    Platform {
        fn facts() -> Result<HostFacts>;
        fn notice(level: Level, text: &str);
        fn is_simulated() -> bool;
    }
    Files {
        fn entry(path: &HostPath) -> Result<Option<Entry>>;
        fn open(path: &HostPath) -> Result<Box<dyn std::io::Read>>;
        fn list(path: &HostPath) -> Result<Vec<String>>;
        fn create_directory(path: &HostPath, access: Access) -> Result<()>;
        fn write(path: &HostPath, content: &mut dyn std::io::Read, options: WriteOptions) -> Result<()>;
        fn read_link(path: &HostPath) -> Result<Option<String>>;
        fn create_symlink(path: &HostPath, target: &str) -> Result<()>;
        fn set_access(path: &HostPath, access: Access) -> Result<()>;
        fn restore_access(path: &HostPath, descriptor: &str) -> Result<()>;
        fn remove_file(path: &HostPath) -> Result<()>;
        fn remove_empty_directory(path: &HostPath) -> Result<bool>;
        fn remove_tree(path: &HostPath) -> Result<()>;
    }
    Environment {
        fn env(name: &str) -> Result<Option<String>>;
        fn set_env(name: &str, value: Option<&str>) -> Result<()>;
        fn path_entries() -> Result<Vec<String>>;
        fn set_path_entries(entries: &[String]) -> Result<()>;
    }
    Registry {
        fn registry_key_exists(key: &str) -> Result<bool>;
        fn registry_value(key: &str, name: &str) -> Result<Option<RegistryData>>;
        fn set_registry_value(key: &str, name: &str, data: &RegistryData) -> Result<()>;
        fn delete_registry_value(key: &str, name: &str) -> Result<()>;
        fn delete_empty_registry_key(key: &str) -> Result<bool>;
    }
    Services {
        fn service(name: &str) -> Result<Option<ObservedService>>;
        fn save_service(name: &str) -> Result<Option<Value>>;
        fn install_service(definition: &ServiceDefinition) -> Result<()>;
        fn start_service(name: &str) -> Result<()>;
        fn set_service_start(name: &str, start: StartType) -> Result<()>;
        fn stop_service(name: &str) -> Result<Vec<String>>;
        fn delete_service(name: &str) -> Result<()>;
        fn restore_service(name: &str, saved: &Value) -> Result<()>;
    }
    Firewall {
        fn firewall_rules(name: &str) -> Result<Vec<FirewallRuleFacts>>;
        fn save_firewall_rules(name: &str) -> Result<Vec<Value>>;
        fn set_firewall_rule(rule: &FirewallRule) -> Result<()>;
        fn restore_firewall_rules(name: &str, saved: &[Value]) -> Result<()>;
    }
    Features {
        fn windows_feature(name: &str) -> Result<WindowsFeatureFacts>;
        fn set_windows_feature(name: &str, present: bool) -> Result<()>;
        fn pending_reboots() -> Result<Vec<String>>;
        fn boot() -> Result<u32>;
        fn begin_reboot() -> Result<()>;
    }
    Identity {
        fn hostname() -> Result<HostnameFacts>;
        fn set_hostname(name: &str) -> Result<()>;
    }
    Hns {
        fn hns_process() -> Result<Option<u32>>;
        fn hns_networks() -> Result<Vec<HnsNetworkFacts>>;
        fn create_hns_network(network: &HnsNetwork) -> Result<()>;
        fn delete_hns_network(id: &str) -> Result<()>;
        fn hns_endpoints() -> Result<Vec<HnsEndpointFacts>>;
        fn create_hns_endpoint(endpoint: &NewEndpoint) -> Result<()>;
        fn attach_hns_endpoint(id: &str) -> Result<()>;
        fn delete_hns_endpoint(id: &str) -> Result<()>;
        fn hns_balancers() -> Result<Vec<Balancer>>;
        fn delete_hns_balancer(id: &str) -> Result<()>;
    }
    Layers {
        fn destroy_layer(path: &HostPath) -> Result<()>;
    }
    Network {
        fn interfaces() -> Result<Vec<InterfaceFacts>>;
        fn interface(reference: &InterfaceRef) -> Result<Option<u32>>;
        fn routes(destination: &IpNet) -> Result<Vec<RouteEntry>>;
        fn add_route(route: &RouteEntry) -> Result<()>;
        fn delete_route(route: &RouteEntry) -> Result<()>;
        fn forwarding(interface: &InterfaceRef) -> Result<Option<bool>>;
        fn set_forwarding(interface: &InterfaceRef, on: bool) -> Result<()>;
        fn dynamic_ports(protocol: Protocol) -> Result<DynamicPortsFacts>;
        fn set_dynamic_ports(ports: &DynamicPorts) -> Result<()>;
        fn adapter(address: IpAddr) -> Result<Option<ObservedAdapter>>;
        fn restore_adapter(address: IpAddr, settings: &ObservedAdapter) -> Result<()>;
    }
    Conditions {
        fn condition(condition: &Condition) -> Result<ConditionFacts>;
        fn pause(duration: Duration);
    }
    Programs {
        fn run(program: &Program) -> Result<ProgramExit>;
    }
    Downloads {
        fn download(download: &Download<'_>, on_data: &mut OnData<'_>) -> Result<()>;
    }
    Kernel {
        fn sysctl(name: &SysctlName) -> Result<Option<String>>;
        fn set_sysctl(name: &SysctlName, value: &str) -> Result<()>;
        fn kernel_module(name: &ModuleName) -> Result<KernelModuleFacts>;
        fn load_kernel_module(name: &ModuleName) -> Result<()>;
        fn unload_kernel_module(name: &ModuleName) -> Result<()>;
    }
    Swaps {
        fn swap_areas() -> Result<Vec<SwapArea>>;
        fn swap_table() -> Result<HostPath>;
        fn swap_off(area: &SwapArea) -> Result<()>;
        fn swap_on(area: &SwapArea) -> Result<()>;
    }
    Packages {
        fn package(name: &PackageName) -> Result<Option<PackageVersion>>;
        fn install_package(name: &PackageName, version: Option<&PackageVersion>) -> Result<()>;
        fn remove_package(name: &PackageName) -> Result<()>;
    }
    Units {
        fn unit(name: &UnitName) -> Result<Option<ObservedUnit>>;
        fn set_unit_enablement(name: &UnitName, wanted: Enablement) -> Result<()>;
        fn set_unit_running(name: &UnitName, running: bool) -> Result<()>;
    }
    Links {
        fn link(name: &LinkName) -> Result<Option<ObservedLink>>;
        fn add_link(name: &LinkName, link: &LinkType) -> Result<()>;
        fn delete_link(name: &LinkName) -> Result<()>;
        fn set_link_mtu(name: &LinkName, mtu: u32) -> Result<()>;
        fn set_link_up(name: &LinkName, up: bool) -> Result<()>;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trait functions in a source file formatted by rustfmt.
    fn declared(source: &str) -> Vec<(String, Vec<String>)> {
        let mut concerns: Vec<(String, Vec<String>)> = Vec::new();
        let mut inside = false;
        let name = |text: &str| {
            let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            text[..end.unwrap_or(text.len())].to_owned()
        };
        for line in source.lines() {
            if let Some(rest) = line.strip_prefix("pub trait ") {
                concerns.push((name(rest), Vec::new()));
                inside = true;
            } else if line == "}" {
                inside = false;
            } else if let (true, Some(rest)) = (inside, line.strip_prefix("    fn ")) {
                concerns.last_mut().unwrap().1.push(name(rest));
            }
        }
        concerns
    }

    /// A missing function would get the default of its trait.
    #[test]
    fn every_function_of_the_platform_is_recorded() {
        let source = [
            include_str!("../../src/platform.rs"),
            include_str!("../../src/platform/downloads.rs"),
            include_str!("../../src/platform/linux.rs"),
            include_str!("../../src/platform/windows.rs"),
        ];
        let mut declared = declared(&source.join("\n"));
        let listed = FUNCTIONS.iter().map(|(concern, functions)| {
            let functions = functions.iter().map(|&it| it.to_owned());
            ((*concern).to_owned(), functions.collect::<Vec<_>>())
        });
        let mut listed: Vec<_> = listed.collect();
        for concerns in [&mut declared, &mut listed] {
            concerns.sort();
            for (_, functions) in concerns {
                functions.sort();
            }
        }
        assert_eq!(listed, declared);
    }
}
