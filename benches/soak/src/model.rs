//! A model on loopback that keeps nothing of what it is asked: a soak asks more than a journal holds.

use crate::SoakError;
use mock::{Script, Server};
use std::net::{Ipv4Addr, SocketAddr};
use tokio::sync::oneshot;

/// Answers until dropped.
pub struct Model {
    addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Model {
    pub fn start(script: Script) -> Result<Self, SoakError> {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(script, anywhere).map_err(SoakError::io("listening on loopback"))?;
        let addr = server.local_addr().map_err(SoakError::io("listening on loopback"))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(SoakError::io("starting the model"))?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = server.run(|_| ()) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self { addr, stop: Some(stop), thread: Some(thread) })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic over there has been reported by its own thread.
            let _ = thread.join();
        }
    }
}
