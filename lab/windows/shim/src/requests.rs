//! The containerd task API.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use containerd_shim::api::*;
use containerd_shim::protos::api::ProcessInfo;
use containerd_shim::protos::events::task::{
    TaskCreate, TaskDelete, TaskExecAdded, TaskExecStarted, TaskExit, TaskIO, TaskStart,
};
use containerd_shim::protos::protobuf::MessageField;
use containerd_shim::protos::ttrpc;
use containerd_shim::{Error, ExitSignal, Task, TtrpcContext, TtrpcResult, info};
use lab_wire::container::KillMode;

use crate::events::Events;
use crate::process::{Exit, Process};
use crate::stats;
use crate::streams::StreamNames;
use crate::task::Container;

pub struct Requests {
    containers: Mutex<HashMap<String, Arc<Container>>>,
    events: Events,
    exit: Arc<ExitSignal>,
}

impl Requests {
    pub fn new(events: Events, exit: Arc<ExitSignal>) -> Self {
        Self {
            containers: Mutex::default(),
            events,
            exit,
        }
    }

    fn containers(&self) -> MutexGuard<'_, HashMap<String, Arc<Container>>> {
        // No panic can leave the map in an invalid state.
        self.containers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn container(&self, id: &str) -> Result<Arc<Container>, Error> {
        let found = self.containers().get(id).cloned();
        found.ok_or_else(|| Error::NotFoundError(format!("container {id}")))
    }

    fn process(&self, id: &str, exec: &str) -> Result<Arc<Process>, Error> {
        self.container(id)?.process(exec)
    }
}

impl Task for Requests {
    fn create(
        &self,
        _: &TtrpcContext,
        request: CreateTaskRequest,
    ) -> TtrpcResult<CreateTaskResponse> {
        info!("create {}", request.id);
        if self.containers().contains_key(&request.id) {
            return Err(status(
                ttrpc::Code::ALREADY_EXISTS,
                "container already exists",
            ));
        }
        let stream_names = StreamNames {
            stdin: request.stdin.clone(),
            stdout: request.stdout.clone(),
            stderr: request.stderr.clone(),
            terminal: request.terminal,
        };
        let container = Container::create(&request.id, &request.bundle, stream_names)?;
        self.containers()
            .insert(request.id.clone(), Arc::new(container));
        let pid = std::process::id();
        self.events.publish(created(&request, pid));
        let mut response = CreateTaskResponse::new();
        response.pid = pid;
        Ok(response)
    }

    fn exec(&self, _: &TtrpcContext, request: ExecProcessRequest) -> TtrpcResult<Empty> {
        let container = self.container(&request.id)?;
        if container.process(&request.exec_id).is_ok() {
            return Err(status(ttrpc::Code::ALREADY_EXISTS, "exec already exists"));
        }
        let spec = serde_json::from_slice(&request.spec().value).map_err(Error::from)?;
        let stream_names = StreamNames {
            stdin: request.stdin.clone(),
            stdout: request.stdout.clone(),
            stderr: request.stderr.clone(),
            terminal: request.terminal,
        };
        container.add_exec(&request.exec_id, &spec, stream_names)?;
        self.events.publish(TaskExecAdded {
            container_id: request.id,
            exec_id: request.exec_id,
            ..TaskExecAdded::default()
        });
        Ok(Empty::new())
    }

    fn start(&self, _: &TtrpcContext, request: StartRequest) -> TtrpcResult<StartResponse> {
        let StartRequest { id, exec_id, .. } = request;
        let process = self.process(&id, &exec_id)?;
        let exit_events = self.events.clone();
        let (exit_id, exit_exec) = (id.clone(), exec_id.clone());
        let started = |pid| publish_start(&self.events, &id, &exec_id, pid);
        let ended = move |exit: Exit| exit_events.publish(exited(&exit_id, &exit_exec, &exit));
        let mut response = StartResponse::new();
        response.pid = process.start(started, ended)?;
        Ok(response)
    }

    fn state(&self, _: &TtrpcContext, request: StateRequest) -> TtrpcResult<StateResponse> {
        let container = self.container(&request.id)?;
        let process = container.process(&request.exec_id)?;
        let (status, pid) = process.status();
        let mut response = StateResponse {
            id: request.id,
            exec_id: request.exec_id,
            bundle: container.bundle.clone(),
            pid,
            status: status.into(),
            stdin: process.stream_names.stdin.clone(),
            stdout: process.stream_names.stdout.clone(),
            stderr: process.stream_names.stderr.clone(),
            terminal: process.stream_names.terminal,
            ..StateResponse::default()
        };
        if let Some(exit) = process.exited() {
            response.exit_status = exit.code;
            response.exited_at = MessageField::some(exit.at);
        }
        Ok(response)
    }

    fn wait(&self, _: &TtrpcContext, request: WaitRequest) -> TtrpcResult<WaitResponse> {
        let exit = self.process(&request.id, &request.exec_id)?.wait();
        let mut response = WaitResponse::new();
        response.exit_status = exit.code;
        response.exited_at = MessageField::some(exit.at);
        Ok(response)
    }

    fn kill(&self, _: &TtrpcContext, request: KillRequest) -> TtrpcResult<Empty> {
        info!("kill {} {} {}", request.id, request.exec_id, request.signal);
        let process = self.process(&request.id, &request.exec_id)?;
        if let Some(exit) = process.kill(ending(request.signal)?)? {
            self.events
                .publish(exited(&request.id, &request.exec_id, &exit));
        }
        Ok(Empty::new())
    }

    fn delete(&self, _: &TtrpcContext, request: DeleteRequest) -> TtrpcResult<DeleteResponse> {
        let container = self.container(&request.id)?;
        let process = container.process(&request.exec_id)?;
        let (state, pid) = process.status();
        if state == Status::RUNNING {
            return Err(status(ttrpc::Code::FAILED_PRECONDITION, "still running"));
        }
        let exit = process.exited();
        let mut response = DeleteResponse::new();
        response.pid = pid;
        response.exit_status = exit.as_ref().map_or(0, |exit| exit.code);
        response.exited_at = exit.map(|exit| exit.at).into();
        if !request.exec_id.is_empty() {
            container.remove_exec(&request.exec_id);
            return Ok(response);
        }
        info!("delete {}", request.id);
        container.delete()?;
        self.containers().remove(&request.id);
        self.events.publish(TaskDelete {
            container_id: request.id,
            pid,
            exit_status: response.exit_status,
            exited_at: response.exited_at.clone(),
            ..TaskDelete::default()
        });
        Ok(response)
    }

    fn pids(&self, _: &TtrpcContext, request: PidsRequest) -> TtrpcResult<PidsResponse> {
        let usage = self.container(&request.id)?.usage()?;
        let mut response = PidsResponse::new();
        response.processes = usage.pids.into_iter().map(process_info).collect();
        Ok(response)
    }

    fn stats(&self, _: &TtrpcContext, request: StatsRequest) -> TtrpcResult<StatsResponse> {
        let container = self.container(&request.id)?;
        let usage = container.usage()?;
        let mut response = StatsResponse::new();
        response.stats = MessageField::some(stats::encode(&container.created_at, &usage)?);
        Ok(response)
    }

    fn connect(&self, _: &TtrpcContext, request: ConnectRequest) -> TtrpcResult<ConnectResponse> {
        let (_, pid) = self.process(&request.id, "")?.status();
        let mut response = ConnectResponse::new();
        response.shim_pid = std::process::id();
        response.task_pid = pid;
        response.version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(response)
    }

    fn resize_pty(&self, _: &TtrpcContext, request: ResizePtyRequest) -> TtrpcResult<Empty> {
        let process = self.process(&request.id, &request.exec_id)?;
        let short = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
        process.resize(short(request.width), short(request.height));
        Ok(Empty::new())
    }

    /// Nothing to do: the pipe reports its end after all data was read.
    fn close_io(&self, _: &TtrpcContext, request: CloseIORequest) -> TtrpcResult<Empty> {
        self.process(&request.id, &request.exec_id)?;
        Ok(Empty::new())
    }

    /// Resource limits have no effect in the lab.
    fn update(&self, _: &TtrpcContext, request: UpdateTaskRequest) -> TtrpcResult<Empty> {
        self.container(&request.id)?;
        Ok(Empty::new())
    }

    fn pause(&self, _: &TtrpcContext, _: PauseRequest) -> TtrpcResult<Empty> {
        Err(status(ttrpc::Code::UNIMPLEMENTED, "pause"))
    }

    fn resume(&self, _: &TtrpcContext, _: ResumeRequest) -> TtrpcResult<Empty> {
        Err(status(ttrpc::Code::UNIMPLEMENTED, "resume"))
    }

    /// Ignored while containers exist, unless `now` is set.
    fn shutdown(&self, _: &TtrpcContext, request: ShutdownRequest) -> TtrpcResult<Empty> {
        if request.now || self.containers().is_empty() {
            info!("shutdown {}", request.id);
            self.exit.signal();
        }
        Ok(Empty::new())
    }
}

/// The signals that Microsoft's shim accepts for Windows containers.
fn ending(signal: u32) -> TtrpcResult<KillMode> {
    match signal {
        9 => Ok(KillMode::Terminate),
        // Ctrl+C, Ctrl+Break, close, log off, shutdown, and SIGTERM.
        0 | 1 | 2 | 5 | 6 | 15 => Ok(KillMode::Shutdown),
        _ => {
            let text = format!("signal {signal}: invalid signal value");
            Err(status(ttrpc::Code::FAILED_PRECONDITION, &text))
        }
    }
}

fn status(code: ttrpc::Code, text: &str) -> ttrpc::Error {
    ttrpc::Error::RpcStatus(ttrpc::get_status(code, text))
}

fn process_info(pid: u32) -> ProcessInfo {
    ProcessInfo {
        pid,
        ..ProcessInfo::default()
    }
}

fn created(request: &CreateTaskRequest, pid: u32) -> TaskCreate {
    let io = TaskIO {
        stdin: request.stdin.clone(),
        stdout: request.stdout.clone(),
        stderr: request.stderr.clone(),
        terminal: request.terminal,
        ..TaskIO::default()
    };
    TaskCreate {
        container_id: request.id.clone(),
        bundle: request.bundle.clone(),
        rootfs: request.rootfs.clone(),
        io: MessageField::some(io),
        pid,
        ..TaskCreate::default()
    }
}

fn publish_start(events: &Events, id: &str, exec: &str, pid: u32) {
    if exec.is_empty() {
        events.publish(TaskStart {
            container_id: id.to_owned(),
            pid,
            ..TaskStart::default()
        });
    } else {
        events.publish(TaskExecStarted {
            container_id: id.to_owned(),
            exec_id: exec.to_owned(),
            pid,
            ..TaskExecStarted::default()
        });
    }
}

fn exited(id: &str, exec: &str, exit: &Exit) -> TaskExit {
    let process = if exec.is_empty() { id } else { exec };
    TaskExit {
        container_id: id.to_owned(),
        id: process.to_owned(),
        pid: exit.pid,
        exit_status: exit.code,
        exited_at: MessageField::some(exit.at.clone()),
        ..TaskExit::default()
    }
}
