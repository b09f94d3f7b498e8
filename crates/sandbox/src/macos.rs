//! The box on macOS: a Seatbelt profile, entered through the system's own `sandbox-exec`.

use crate::proxy::Proxy;
use crate::rules::{Network, Rules, Weakness};
use crate::{Mechanism, Unavailable, seatbelt};
use process::{Entry, Spec};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "/usr/bin/sandbox-exec";

#[derive(Debug)]
pub(crate) struct Mac {
    rules: Rules,
    proxy: Option<Proxy>,
}

impl Mechanism for Mac {
    fn build(rules: Rules) -> Result<Self, Unavailable> {
        if !Path::new(PROGRAM).is_file() {
            return Err(Unavailable(format!("{PROGRAM} is not there")));
        }
        let proxy = match &rules.network {
            Network::Only(hosts) => {
                let listener = TcpListener::bind("127.0.0.1:0")
                    .map_err(|error| Unavailable(format!("the proxy cannot listen: {error}")))?;
                Some(Proxy::new(listener, hosts.clone())?)
            }
            Network::Open | Network::Off => None,
        };
        Ok(Self { rules, proxy })
    }

    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn weaknesses(&self) -> &[Weakness] {
        &[]
    }

    fn prepare(&self, spec: &mut Spec, also: &[PathBuf]) -> io::Result<Entry> {
        if let Some(proxy) = &self.proxy {
            proxy.start();
        }
        let profile = seatbelt::profile(&self.rules, also, self.proxy_port());
        let program = std::mem::replace(&mut spec.program, PROGRAM.into());
        let args = std::mem::take(&mut spec.args);
        spec.args = ["-p".into(), profile.into(), "--".into(), program].into_iter().chain(args).collect();
        spec.arg0 = None;
        Ok(Entry { steps: None, pid_pipe: None, explain: |error| error })
    }

    fn proxy_port(&self) -> Option<u16> {
        self.proxy.as_ref().map(Proxy::port)
    }

    fn relays(&self) -> bool {
        false
    }

    fn close(&self) {}
}
