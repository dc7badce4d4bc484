//! The shim's own life: one process per pod, gone with its last container.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use containerd_shim::api::DeleteResponse;
use containerd_shim::protos::protobuf::MessageField;
use containerd_shim::publisher::RemotePublisher;
use containerd_shim::util::timestamp;
use containerd_shim::{Config, Error, ExitSignal, Flags, Shim, StartOpts, spawn};

use crate::events::Events;
use crate::logger;
use crate::requests::Requests;
use crate::spec::Spec;
use crate::task;

/// How long the farewell may take.
const FAREWELL: Duration = Duration::from_secs(3);

/// The exit status of a container whose shim has died.
const LOST: u32 = 255;

/// What the command line asks for.
pub struct Service {
    id: String,
    namespace: String,
    bundle: String,
    exit: Arc<ExitSignal>,
}

impl Shim for Service {
    type T = Requests;

    fn new(_runtime: &str, flags: &Flags, config: &mut Config) -> Self {
        config.no_setup_logger = true;
        Self {
            id: flags.id.clone(),
            namespace: flags.namespace.clone(),
            bundle: flags.bundle.clone(),
            exit: Arc::default(),
        }
    }

    /// Starts the server; the containers of a pod share the sandbox's.
    fn start_shim(&mut self, options: StartOpts) -> Result<String, Error> {
        // The working directory is the bundle.
        let group = match Spec::read(Path::new(".")) {
            Ok(spec) => spec.key(&options.id).sandbox,
            Err(_) => options.id.clone(),
        };
        spawn(options, &group, Vec::new()).map(|(_, address)| address)
    }

    /// Called when a shim has gone, whether well or not.
    fn delete_shim(&mut self) -> Result<DeleteResponse, Error> {
        if let Err(error) = task::delete_leftovers(&self.id, &self.bundle) {
            eprintln!("{}: {error}", self.id);
        }
        let mut response = DeleteResponse::new();
        response.exit_status = LOST;
        response.exited_at = MessageField::some(timestamp()?);
        Ok(response)
    }

    fn wait(&mut self) {
        self.exit.wait();
        // The server's end waits for its connections; the process does not.
        thread::spawn(|| {
            thread::sleep(FAREWELL);
            std::process::exit(0);
        });
    }

    fn create_task_service(&self, publisher: RemotePublisher) -> Requests {
        // Windows removes no folder that somebody works in, and containerd
        // removes the bundle, where this process was started.
        let _ = std::env::set_current_dir(r"C:\");
        logger::start(&self.id);
        let events = Events::new(publisher, self.namespace.clone());
        Requests::new(events, Arc::clone(&self.exit))
    }
}
