//! The lifecycle of the shim: one process per pod, until its last container is
//! deleted.

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

/// Time limit for closing connections at the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The exit status of a container whose shim has crashed.
const UNKNOWN_EXIT_STATUS: u32 = 255;

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

    /// The containers of a pod share the server of the sandbox.
    fn start_shim(&mut self, options: StartOpts) -> Result<String, Error> {
        // The working directory is the bundle.
        let group = match Spec::read(Path::new(".")) {
            Ok(spec) => spec.key(&options.id).sandbox,
            Err(_) => options.id.clone(),
        };
        spawn(options, &group, Vec::new()).map(|(_, address)| address)
    }

    /// Called after a shim has exited, normally or not.
    fn delete_shim(&mut self) -> Result<DeleteResponse, Error> {
        if let Err(error) = task::delete_leftovers(&self.id, &self.bundle) {
            eprintln!("{}: {error}", self.id);
        }
        let mut response = DeleteResponse::new();
        response.exit_status = UNKNOWN_EXIT_STATUS;
        response.exited_at = MessageField::some(timestamp()?);
        Ok(response)
    }

    fn wait(&mut self) {
        self.exit.wait();
        // The server waits for its connections to close; the process does not.
        thread::spawn(|| {
            thread::sleep(SHUTDOWN_TIMEOUT);
            std::process::exit(0);
        });
    }

    fn create_task_service(&self, publisher: RemotePublisher) -> Requests {
        // containerd removes the bundle, which is the working directory of this
        // process, and Windows cannot remove a directory in use.
        let _ = std::env::set_current_dir(r"C:\");
        logger::init(&self.id);
        let events = Events::new(publisher, self.namespace.clone());
        Requests::new(events, Arc::clone(&self.exit))
    }
}
