//! A TCP proxy that stops forwarding after a limit without closing the connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use casement_sim::SimHost;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Closes its connections on drop.
pub struct StallingProxy {
    port: u16,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct State {
    stalled: Notify,
    forwarded: AtomicU64,
}

impl StallingProxy {
    /// `limit`: the bytes that the first connection forwards to the host.
    pub async fn to_host(host: &SimHost, limit: usize) -> Self {
        Self::to_address((host.spec().address, host.port()).into(), limit).await
    }

    pub async fn to_address(server: SocketAddr, limit: usize) -> Self {
        let listener = TcpListener::bind((server.ip(), 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            let mut limit = limit;
            while let Ok((client, _)) = listener.accept().await {
                let upstream = TcpStream::connect(server).await.unwrap();
                connections.spawn(forward(client, upstream, limit, Arc::clone(&shared)));
                limit = usize::MAX;
            }
        });
        Self { port, state, task }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub async fn wait_until_stalled(&self) {
        self.state.stalled.notified().await;
    }

    /// Bytes sent to the server.
    pub fn forwarded(&self) -> u64 {
        self.state.forwarded.load(Ordering::SeqCst)
    }
}

impl Drop for StallingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(mut client: TcpStream, mut server: TcpStream, limit: usize, state: Arc<State>) {
    let (mut responses, mut requests_out) = server.split();
    let (mut requests_in, mut back) = client.split();
    tokio::select! {
        _ = tokio::io::copy(&mut responses, &mut back) => {}
        () = forward_limited(&mut requests_in, &mut requests_out, limit, &state) => {}
    }
}

async fn forward_limited(
    from: &mut ReadHalf<'_>,
    into: &mut WriteHalf<'_>,
    limit: usize,
    state: &State,
) {
    let mut remaining = limit;
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if count > remaining {
            state.stalled.notify_one();
            // Both connections stay open.
            std::future::pending::<()>().await;
        }
        remaining -= count;
        state.forwarded.fetch_add(count as u64, Ordering::SeqCst);
        if into.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
