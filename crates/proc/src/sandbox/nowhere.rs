//! Systems without a sandbox that we know: there is none, and whoever asks is told.

use super::rules::{Rules, Weakness};
use super::{Confine, Ready, Unavailable};
use crate::spec::Spec;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

#[derive(Debug)]
pub(super) struct Nowhere(Infallible);

impl Confine for Nowhere {
    fn build(_rules: Rules) -> Result<Self, Unavailable> {
        Err(Unavailable("this system has no sandbox that this program knows".into()))
    }

    fn rules(&self) -> &Rules {
        match self.0 {}
    }

    fn weaknesses(&self) -> &[Weakness] {
        match self.0 {}
    }

    fn prepare(&self, _spec: &mut Spec, _also: &[PathBuf]) -> io::Result<Ready> {
        match self.0 {}
    }

    fn proxy_port(&self) -> Option<u16> {
        match self.0 {}
    }

    fn close(&self) {
        match self.0 {}
    }
}
