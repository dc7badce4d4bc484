//! The programs of a simulated host: kubeadm, ctr, docker, wusa, and on Linux `switch`,
//! which prints and sets a value.

use casement_resource::HostPath;
use casement_resource::host_paths::{LINUX_KUBELET, WINDOWS_KUBELET};
use casement_resource::service_names::KUBELET;
use serde_json::Value;

use super::world::{NARROW, SimEntry, WIDE, World};
use super::{Sim, refused};
use crate::platform::{Program, ProgramExit, Programs, Result, Services};

impl Programs for Sim {
    fn run(&self, program: &Program) -> Result<ProgramExit> {
        self.read("run")?;
        if let Some(ended) = self.run_hooked(program) {
            return Ok(ended);
        }
        if let [name, arguments @ ..] = program.arguments.as_slice()
            && name == "switch"
        {
            return self.switch(arguments);
        }
        if let [name, arguments @ ..] = program.arguments.as_slice() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            match (name.rsplit(['\\', '/']).next(), arguments.as_slice()) {
                (
                    Some("ctr.exe" | "ctr"),
                    ["--address", _, "--namespace", "k8s.io", arguments @ ..],
                ) => {
                    return self.ctr(arguments);
                }
                (Some("ctr.exe" | "ctr"), ["--address", _, "namespaces", "list", "--quiet"]) => {
                    return Ok(ended(0, "k8s.io\n"));
                }
                (Some("docker.exe"), arguments) => return self.docker(arguments),
                (Some("wusa.exe"), [file, "/quiet", "/norestart"]) => return self.wusa(file),
                _ => {}
            }
        }
        let [name, verb, flag, file] = program.arguments.as_slice() else {
            return Err(refused("run", "not kubeadm join --config FILE"));
        };
        let kubeadm = name.ends_with("kubeadm.exe") || name.ends_with("/kubeadm");
        if !kubeadm || verb != "join" || flag != "--config" {
            return Err(refused(&format!("run {name}"), "no such program"));
        }
        let file: HostPath = file.parse().map_err(|_| refused("run", "no such file"))?;
        let dir = file
            .parent()
            .ok_or_else(|| refused("run", "no such directory"))?;
        let conf = dir
            .join("kubelet.conf")
            .map_err(|_| refused("run", "invalid path"))?;
        let world = self.world();
        let Some((SimEntry::File(bytes), access)) = world.entries.get(&file) else {
            return Ok(ended(1, "couldn't read the config file"));
        };
        if access != NARROW || world.entries.contains_key(&conf) {
            return Ok(ended(
                1,
                "[preflight] Some fatal errors occurred: FileAvailable",
            ));
        }
        let configuration: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let Some(token) = configuration
            .pointer("/discovery/bootstrapToken/token")
            .and_then(Value::as_str)
        else {
            return Ok(ended(1, "no token"));
        };
        if token == "wrong" {
            return Ok(ended(1, &format!("token {token} is not valid")));
        }
        let server = configuration.pointer("/discovery/bootstrapToken/apiServerEndpoint");
        let server = server
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        self.join(&dir, &conf, &server)?;
        Ok(ended(0, "This node has joined the cluster"))
    }
}

impl Sim {
    fn switch(&self, arguments: &[String]) -> Result<ProgramExit> {
        match arguments {
            [name] => self.linux(|linux| {
                let value = linux.switches.get(name).map_or("off", String::as_str);
                ended(0, &format!("{value}\n"))
            }),
            [name, value] => {
                self.change_linux(&format!("switch {name}"), |linux| {
                    match value.as_str() {
                        "off" => linux.switches.remove(name),
                        value => linux.switches.insert(name.clone(), value.to_owned()),
                    };
                    Ok(())
                })?;
                Ok(ended(0, ""))
            }
            _ => Ok(ended(2, "usage: switch NAME [VALUE]")),
        }
    }

    /// The Windows update installer reports its result in the exit code.
    fn wusa(&self, file: &str) -> Result<ProgramExit> {
        let (update, installed) = {
            let world = self.lock();
            (world.updates.get(file).copied(), world.revision.0)
        };
        match update {
            None => Ok(ended(2, "")),
            Some(revision) if revision <= installed => Ok(ended(0x0024_0006, "")),
            Some(revision) => {
                self.change(&format!("wusa {file}"), |world| {
                    world.revision.1 = Some(revision);
                    Ok(())
                })?;
                Ok(ended(3010, ""))
            }
        }
    }

    fn join(&self, dir: &HostPath, conf: &HostPath, server: &str) -> Result<()> {
        let invalid_path = |_| refused("run", "invalid path");
        let bootstrap = dir.join("bootstrap-kubelet.conf").map_err(invalid_path)?;
        let kubelet = match dir.is_windows() {
            true => WINDOWS_KUBELET,
            false => LINUX_KUBELET,
        };
        let kubelet: HostPath = kubelet.parse().map_err(invalid_path)?;
        let pki = kubelet.join("pki").map_err(invalid_path)?;
        let certificate = pki
            .join("kubelet-client-current.pem")
            .map_err(invalid_path)?;
        let conf_text = format!("clusters:\n- cluster:\n    server: https://{server}\n");
        let put = |world: &mut World, path: &HostPath, text: &str| {
            let file = (SimEntry::File(text.as_bytes().to_vec()), WIDE.to_owned());
            world.entries.insert(path.clone(), file);
            Ok(())
        };
        self.change("kubeadm bootstrap", |world| put(world, &bootstrap, "token"))?;
        self.start_service(KUBELET)?;
        // Written by the kubelet once its certificate request is approved.
        self.change("kubeadm kubelet", |world| {
            if !world.entries.contains_key(&kubelet) {
                return Err(refused("kubeadm", "no kubelet directory"));
            }
            world
                .entries
                .entry(pki.clone())
                .or_insert((SimEntry::Directory, WIDE.to_owned()));
            put(world, &certificate, "certificate")
        })?;
        self.change("kubeadm conf", |world| put(world, conf, &conf_text))
    }
}

fn ended(code: i32, output: &str) -> ProgramExit {
    ProgramExit {
        code: Some(code),
        output: output.to_owned(),
    }
}
