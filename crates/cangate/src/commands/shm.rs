//! `cangate shm`: memory that two parties share.

use crate::cli::Shm;
use ::shm::layout::{memory_for, slots};
use ::shm::link::{ServeError, ShmServer};
use console::{Failure, say};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::os::unix::net::UnixStream;

pub(crate) fn run(args: &Shm) -> Result<(), Failure> {
    let size = memory_for(args.frames);
    let mut server = ShmServer::bind(&args.socket, size).map_err(|error| match error {
        ServeError::Size(_) | ServeError::Listen(_) => Failure::input(error),
        error => Failure::run(error),
    })?;
    let (until, end) = UnixStream::pair().map_err(Failure::run)?;
    for signal in [SIGINT, SIGTERM] {
        let end = end.try_clone().map_err(Failure::run)?;
        signal_hook::low_level::pipe::register(signal, end).map_err(Failure::run)?;
    }
    say(&format!(
        "{}: {} KiB of memory, {} frames each way",
        args.socket.display(),
        size >> 10,
        slots(size)
    ));
    while let Some(happened) = server.serve(&until).map_err(Failure::run)? {
        for what in happened {
            say(&what.to_string());
        }
    }
    Ok(())
}
