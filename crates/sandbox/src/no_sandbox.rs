//! Systems without a supported sandbox: every request for one is an error.

use crate::rules::{Rules, Weakness};
use crate::{Mechanism, Unavailable};
use process::{Entry, Spec};
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

#[derive(Debug)]
pub(crate) struct NoSandbox(Infallible);

impl Mechanism for NoSandbox {
    fn build(_rules: Rules) -> Result<Self, Unavailable> {
        Err(Unavailable("this system has no sandbox that this program knows".into()))
    }

    fn rules(&self) -> &Rules {
        match self.0 {}
    }

    fn weaknesses(&self) -> &[Weakness] {
        match self.0 {}
    }

    fn prepare(&self, _spec: &mut Spec, _also: &[PathBuf]) -> io::Result<Entry> {
        match self.0 {}
    }

    fn proxy_port(&self) -> Option<u16> {
        match self.0 {}
    }

    fn relays(&self) -> bool {
        match self.0 {}
    }

    fn close(&self) {
        match self.0 {}
    }
}
