//! Handshakes from any address: bounded in number and time.

use super::{DatagramListener, PendingHandshake};
use crate::crowd::oldest_of_most;
use crate::datagram::cookie::{ClientHello, with_cookie};
use crate::datagram::psk::NamedIdentity;
use crate::datagram::session::DtlsSession;
use crate::datagram::{DatagramSink, SessionPair, to_network};
use dimpl::Error;
use std::net::SocketAddr;
use std::time::Instant;

impl DatagramListener {
    /// Takes a message that begins a handshake, without a cookie or with one.
    pub(super) fn take_hello(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) {
        self.network.handshake += 1;
        // No client divides it: with a pre-shared key, it is short.
        let Some(hello) = ClientHello::read(datagram) else {
            return;
        };
        if !self.jar.is_own(from, &hello, now) {
            self.handshakes.cookies += 1;
            sink.to_network(Some(from), &self.jar.answer(from, &hello, now));
            return;
        }
        match self.pending.get(&from) {
            // It comes again, because our answer is late or lost.
            Some(handshake) if handshake.random == hello.random => {
                return self.go_on(from, datagram, now, sink);
            }
            // Another client has the address, or the same one, which has started again.
            Some(_) => self.displace(from),
            None if self.pending.len() >= self.limits.handshakes => self.make_room(),
            None => {}
        }
        self.handshakes.begun += 1;
        if let Err(error) = self.begin(from, &hello, datagram, now, sink) {
            self.handshakes.failed += 1;
            sink.note(format!("{from}: the handshake failed: {error}"), now);
        }
    }

    fn displace(&mut self, from: SocketAddr) {
        self.handshakes.displaced += u64::from(self.pending.remove(&from).is_some());
    }

    /// Makes room for a handshake.
    fn make_room(&mut self) {
        let all = self.pending.iter();
        let all = all.map(|(from, other)| (*from, from.ip(), other.session.begun));
        if let Some(oldest) = oldest_of_most(all) {
            self.displace(oldest);
        }
    }

    /// Begins a handshake with the message that has returned the cookie.
    fn begin(
        &mut self,
        from: SocketAddr,
        hello: &ClientHello<'_>,
        datagram: &[u8],
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) -> Result<(), Error> {
        let buffer = &mut self.buffer;
        let mut session = DtlsSession::new(&self.config, false, now, buffer, &mut |_| {})?;
        let mut give = to_network(sink, Some(from));
        with_cookie(hello.cookie().unwrap_or_default(), || {
            // The library answers with the cookie that the client has already.
            session.receive(&hello.first(), now, buffer, &mut |_| {})?;
            session.receive(datagram, now, buffer, &mut give)
        })?;
        let handshake = PendingHandshake {
            session,
            random: hello.random,
            named: None,
        };
        self.pending.insert(from, handshake);
        Ok(())
    }

    /// Takes a part of a handshake, or an alert.
    pub(super) fn take_handshake(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) {
        let joined = self.addresses.get(&from).copied();
        let is_pending = self.pending.contains_key(&from);
        if joined.is_none() && !is_pending {
            self.network.stray += 1;
            return;
        }
        self.network.handshake += 1;
        if let Some(place) = joined {
            self.tell_session(place, is_pending, datagram, now, sink);
        }
        self.go_on(from, datagram, now, sink);
    }

    /// Goes on with a handshake.
    fn go_on(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) {
        let Some(handshake) = self.pending.get_mut(&from) else {
            return;
        };
        let (session, buffer) = (&mut handshake.session, &mut self.buffer);
        let done = session.receive(datagram, now, buffer, &mut to_network(sink, Some(from)));
        if let Some(named) = self.ring.take_named() {
            handshake.named = Some(named);
        }
        match done {
            Err(error) => self.end_handshake(from, &error, now, sink),
            Ok(progress) if progress.has_connected => self.join(from, now, sink),
            Ok(_) => {}
        }
    }

    /// Ends a handshake that has failed.
    fn end_handshake(
        &mut self,
        from: SocketAddr,
        error: &Error,
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) {
        let Some(handshake) = self.pending.remove(&from) else {
            return;
        };
        self.handshakes.failed += 1;
        let why = match (handshake.named, error) {
            (Some(NamedIdentity::Unknown(identity)), _) => {
                format!("unknown identity `{identity}`: no [[udp.peers]] has it")
            }
            (
                Some(NamedIdentity::Known(place)),
                Error::CryptoError(_) | Error::SecurityError(_),
            ) => {
                format!(
                    "wrong key for identity `{}`: both sides must have the same",
                    self.ring.peers()[place].identity
                )
            }
            (_, Error::Timeout(_)) => "the handshake took too long".to_owned(),
            _ => format!("the handshake failed: {error}"),
        };
        sink.note(format!("{from}: {why}"), now);
    }

    /// Makes the session of a peer of a handshake that has ended.
    fn join(&mut self, from: SocketAddr, now: Instant, sink: &mut dyn DatagramSink) {
        let Some(handshake) = self.pending.remove(&from) else {
            return;
        };
        let Some(NamedIdentity::Known(place)) = handshake.named else {
            // The library has checked the key, so it has asked for it.
            self.handshakes.failed += 1;
            return;
        };
        self.handshakes.completed += 1;
        if let Some(other) = self.addresses.get(&from).copied()
            && other != place
        {
            self.leave(other, "has lost its address to another identity", now, sink);
        }
        let peer = &mut self.peers[place];
        peer.counters.sessions += 1;
        match &mut peer.joined {
            Some((address, pair)) if *address == from => pair.renew(handshake.session, now),
            joined => {
                if let Some((address, _)) = joined {
                    self.addresses.remove(address);
                }
                *joined = Some((from, SessionPair::new(handshake.session)));
                self.addresses.insert(from, place);
                let identity = &self.ring.peers()[place].identity;
                sink.note(format!("{identity} has joined from {from}"), now);
            }
        }
    }

    pub(super) fn pass_time_of_handshakes(&mut self, now: Instant, sink: &mut dyn DatagramSink) {
        let mut ended = Vec::new();
        for (from, handshake) in &mut self.pending {
            let session = &mut handshake.session;
            if session.deadline().is_none_or(|due| due > now) {
                continue;
            }
            let mut give = to_network(sink, Some(*from));
            if let Err(error) = session.pass_time(now, &mut self.buffer, &mut give) {
                ended.push((*from, error));
            }
        }
        for (from, error) in ended {
            self.end_handshake(from, &error, now, sink);
        }
    }
}
