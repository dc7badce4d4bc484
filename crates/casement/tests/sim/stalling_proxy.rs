//! A wire to a server that can be full: what is sent arrives nowhere then, and nobody
//! says so.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use casement_sim::SimHost;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Cut when it is dropped.
pub struct Wire {
    port: u16,
    state: Arc<State>,
    listens: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct State {
    full: Notify,
    carried: AtomicU64,
}

impl Wire {
    /// To a host; the first connection takes so many bytes on their way there, and no
    /// more.
    pub async fn to(host: &SimHost, limit: usize) -> Self {
        Self::between((host.spec().address, host.port()).into(), limit).await
    }

    /// The same to any server.
    pub async fn between(server: SocketAddr, limit: usize) -> Self {
        let listener = TcpListener::bind((server.ip(), 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<State>::default();
        let behind = Arc::clone(&state);
        let listens = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            let mut limit = limit;
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(server).await.unwrap();
                connections.spawn(carry(near, far, limit, Arc::clone(&behind)));
                limit = usize::MAX;
            }
        });
        Self {
            port,
            state,
            listens,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits until nothing more goes through.
    pub async fn is_full(&self) {
        self.state.full.notified().await;
    }

    /// How many bytes have come to the server.
    pub fn carried(&self) -> u64 {
        self.state.carried.load(Ordering::SeqCst)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.listens.abort();
    }
}

async fn carry(mut near: TcpStream, mut far: TcpStream, limit: usize, state: Arc<State>) {
    let (mut answers, mut into) = far.split();
    let (mut from, mut back) = near.split();
    tokio::select! {
        _ = tokio::io::copy(&mut answers, &mut back) => {}
        () = inwards(&mut from, &mut into, limit, &state) => {}
    }
}

async fn inwards(from: &mut ReadHalf<'_>, into: &mut WriteHalf<'_>, limit: usize, state: &State) {
    let mut left = limit;
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if count > left {
            state.full.notify_one();
            // Both ends stay open.
            std::future::pending::<()>().await;
        }
        left -= count;
        state.carried.fetch_add(count as u64, Ordering::SeqCst);
        if into.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
