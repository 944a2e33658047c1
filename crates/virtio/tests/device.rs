//! A device and a machine, connected by vhost-user's messages and shared memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod machine;

use frame::Frame;
use linux::EventSet;
use machine::{BUFFERS, Machine, Worked, command_in, connect_while, status, wait};
use std::cell::RefCell;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::PathBuf;
use std::sync::Arc;
use vhost::VhostBackend;
use virtio::message::{
    CONTROL, FLAG_FD, MESSAGE_RX, MESSAGE_START, MESSAGE_STOP, MESSAGE_TX, RESULT_NOT_OK,
    RESULT_OK, RX, TX, feature,
};
use virtio::{DeviceLink, DeviceOptions, ListenError, TakenFrame, VirtioDevice};

const ALL: u64 = feature::CLASSIC | feature::FD | feature::RTR;
const OPTIONS: DeviceOptions = DeviceOptions {
    fd: true,
    brs: true,
    late_ack: true,
    coalesce: 0,
    unsealed: false,
};

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    Place {
        path: folder.path().join("vm.sock"),
        _folder: folder,
    }
}

fn set() -> Arc<EventSet> {
    EventSet::new().unwrap()
}

fn message(id: u32, data: &[u8]) -> Vec<u8> {
    with_flags(0, id, data)
}

fn with_flags(flags: u32, id: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(MESSAGE_TX.to_le_bytes());
    bytes.extend((data.len() as u16).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(flags.to_le_bytes());
    bytes.extend(id.to_le_bytes());
    bytes.extend(data);
    bytes
}

fn taken(device: &Worked) -> Vec<TakenFrame> {
    let mut all = Vec::new();
    device.lock().take(100, &mut |taken| all.push(taken));
    all
}

fn wait_taken(device: &Worked) -> TakenFrame {
    let mut all = Vec::new();
    wait("a frame is there", || {
        all = taken(device);
        !all.is_empty()
    });
    assert_eq!(all.len(), 1);
    all[0]
}

#[test]
fn frames_pass_both_ways_and_are_acknowledged_on_completion() {
    let place = place();
    let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
    assert_eq!(device.lock().link(), DeviceLink::Absent);
    let mut machine = Machine::new();
    let mut monitor = machine.connect(&place.path, ALL);
    assert_eq!(device.lock().link(), DeviceLink::Stopped);
    machine.command(MESSAGE_START);
    assert_eq!(device.lock().link(), DeviceLink::Up);

    machine.send(TX, 3, &with_flags(FLAG_FD, 0x123, &[1, 2]));
    let first = wait_taken(&device);
    assert_eq!(first.frame.to_string(), "123##10102");
    assert_eq!(machine.back(TX), None, "not before it was on the bus");
    device.lock().finish(first.ticket, true);
    device.lock().notify_and_arm();
    assert_eq!(machine.wait_back(TX), (3, vec![RESULT_OK]));
    assert_eq!(machine.calls[TX].read().unwrap(), 1, "an interrupt");
    // A second report of its end changes nothing.
    device.lock().finish(first.ticket, false);
    assert_eq!(machine.back(TX), None);

    let frame: Frame = "1ABCDEF0#AABB".parse().unwrap();
    assert!(!device.lock().give(&frame.view()), "no buffer");
    machine.describe(RX, 5, &[], 80);
    machine.offer(RX, 5);
    assert!(device.lock().give(&frame.view()));
    device.lock().notify_and_arm();
    let (head, bytes) = machine.wait_back(RX);
    assert_eq!((head, bytes.len()), (5, 18));
    assert_eq!(&bytes[..2], MESSAGE_RX.to_le_bytes());
    assert_eq!(&bytes[16..], [0xAA, 0xBB]);
    assert_eq!(machine.calls[RX].read().unwrap(), 1);

    // Bus-off, set by the device's owner; the machine reads it, and cannot start.
    assert_eq!(status(&mut monitor), 0);
    device.lock().set_bus_off(true);
    assert_eq!(device.lock().link(), DeviceLink::BusOff);
    assert_eq!(status(&mut monitor), 1);
    machine.send(CONTROL, 0, &MESSAGE_START.to_le_bytes());
    assert_eq!(machine.wait_back(CONTROL).1, [RESULT_NOT_OK]);
    device.lock().set_bus_off(false);

    machine.command(MESSAGE_STOP);
    machine.send(TX, 4, &message(1, &[]));
    wait("it is refused", || {
        assert_eq!(taken(&device), []);
        device.lock().notify_and_arm();
        machine.back(TX) == Some((4, vec![RESULT_NOT_OK]))
    });
    let counters = device.lock().counters();
    assert_eq!((counters.taken, counters.acknowledged), (1, 1));
    assert_eq!((counters.not_started, counters.given), (1, 1));
}

/// After a queue was armed, it is not checked before its driver has sent a notification; earlier
/// additions are found by arming it.
#[test]
fn a_queue_is_looked_at_until_it_is_armed_and_after_a_kick() {
    let place = place();
    let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
    let mut machine = Machine::new();
    let _monitor = machine.connect(&place.path, ALL);
    machine.command(MESSAGE_START);
    machine.send(TX, 1, &message(1, &[]));
    wait_taken(&device);
    // The queue counts as changed since the connection began, so the frame may be taken before its
    // kick is handled; a kick that is handled later would count for the frames below.
    device.handle_events();
    let offer = |machine: &mut Machine, head: u16| {
        machine.describe(TX, head, &message(u32::from(head), &[]), 1);
        machine.offer(TX, head);
    };
    // Not armed.
    offer(&mut machine, 2);
    assert_eq!(taken(&device).len(), 1);
    offer(&mut machine, 3);
    assert!(device.lock().notify_and_arm().frames, "after the last look");
    assert_eq!(taken(&device).len(), 1);
    assert!(!device.lock().notify_and_arm().work());
    offer(&mut machine, 4);
    assert_eq!(taken(&device), [], "the driver would have said it");
    machine.kick(TX);
    wait_taken(&device);
    // As many frames as may be taken at once, and one more.
    offer(&mut machine, 5);
    offer(&mut machine, 6);
    let mut all = Vec::new();
    assert!(device.lock().take(1, &mut |taken| all.push(taken)));
    assert!(
        !device.lock().notify_and_arm().work(),
        "not armed: it is asked again anyway"
    );
    assert_eq!(taken(&device).len(), 1);
    assert_eq!(device.lock().counters().taken, 6);
}

#[test]
fn a_machine_that_is_reset_hears_that_its_frames_failed() {
    let place = place();
    let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
    let mut machine = Machine::new();
    let monitor = machine.connect(&place.path, ALL);
    machine.command(MESSAGE_START);
    machine.send(TX, 1, &message(0x11, &[1]));
    let first = wait_taken(&device);
    machine.send(TX, 2, &message(0x22, &[2]));
    let second = wait_taken(&device);
    device.lock().finish(second.ticket, true);
    // Paused: the queue is taken away, with all of its buffers.
    assert_eq!(monitor.get_vring_base(TX).unwrap(), 2);
    assert_eq!(machine.wait_back(TX), (2, vec![RESULT_OK]));
    assert_eq!(machine.wait_back(TX), (1, vec![RESULT_NOT_OK]));
    device.lock().finish(first.ticket, true);
    assert_eq!(machine.back(TX), None);
    let counters = device.lock().counters();
    assert_eq!((counters.acknowledged, counters.abandoned), (1, 1));
    assert_eq!(device.lock().link(), DeviceLink::Stopped);
}

#[test]
fn a_machine_goes_on_where_another_process_left_it() {
    let place = place();
    let mut machine = Machine::new();
    for started in [true, false, true] {
        let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
        let monitor = machine.connect(&place.path, ALL);
        machine.command(if started { MESSAGE_START } else { MESSAGE_STOP });
        let link = device.lock().link();
        drop(device);
        drop(monitor);
        let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
        let _monitor = machine.connect(&place.path, ALL);
        assert_eq!(device.lock().link(), link);
        if started {
            machine.send(TX, 7, &message(7, &[]));
            let frame = wait_taken(&device);
            device.lock().finish(frame.ticket, true);
            assert_eq!(machine.wait_back(TX), (7, vec![RESULT_OK]));
        }
    }
}

#[test]
fn queues_that_make_no_sense_are_left_alone_until_they_are_set_up_anew() {
    let place = place();
    let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
    let mut machine = Machine::new();
    let monitor = machine.connect(&place.path, ALL);
    machine.command(MESSAGE_START);
    machine.lie(TX, BUFFERS + 1);
    machine.kick(TX);
    wait("it is noticed", || {
        assert_eq!(taken(&device), []);
        device.lock().link() == DeviceLink::Broken
    });
    wait("it is said", || {
        let remarks = device.lock().remarks();
        remarks
            .iter()
            .any(|r| r.contains("transmit queue is not valid"))
    });
    drop(monitor);
    wait("it has gone", || device.lock().link() == DeviceLink::Absent);
    machine.lie(TX, 0);
    let _monitor = machine.connect(&place.path, ALL);
    assert_eq!(device.lock().link(), DeviceLink::Up);
}

/// The same buffer twice, buffers outside of the memory, endless chains, messages that are too
/// short.
#[test]
fn invalid_buffers_harm_no_other() {
    let place = place();
    let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
    let mut machine = Machine::new();
    let monitor = machine.connect(&place.path, ALL);
    machine.command(MESSAGE_START);
    let table = machine::BASE;
    let entry = |machine: &Machine, head: u16, at: u64, len: u32, flags: u16, next: u16| {
        use vm_memory::{Bytes, GuestAddress};
        let place = table + 16 * u64::from(head);
        machine.memory.write_obj(at, GuestAddress(place)).unwrap();
        machine
            .memory
            .write_obj(len, GuestAddress(place + 8))
            .unwrap();
        machine
            .memory
            .write_obj(flags, GuestAddress(place + 12))
            .unwrap();
        machine
            .memory
            .write_obj(next, GuestAddress(place + 14))
            .unwrap();
    };
    // Outside of the memory; longer than everything; pointing to itself; an indirect table at no
    // valid address.
    entry(&machine, 0, 0xDEAD_0000, 24, 0, 0);
    entry(&machine, 1, machine::BASE + 0x1000, u32::MAX, 0, 0);
    entry(&machine, 2, machine::BASE + 0x1000, 1, 1, 2);
    entry(&machine, 3, 0xFFFF_FFFF_FFFF_FFF0, 16, 4, 0);
    for head in 0..4 {
        machine.offer(TX, head);
    }
    machine.kick(TX);
    for _ in 0..4 {
        wait("it comes back", || {
            assert_eq!(taken(&device), []);
            machine.back(TX).is_some()
        });
    }
    assert_eq!(device.lock().counters().malformed, 4);
    assert_eq!(device.lock().link(), DeviceLink::Up);
    machine.send(TX, 6, &message(6, &[]));
    wait_taken(&device);
    machine.send(TX, 6, &message(6, &[]));
    wait("it is noticed", || {
        taken(&device);
        device.lock().link() == DeviceLink::Broken
    });
    drop(monitor);
}

#[test]
fn a_socket_belongs_to_one_process_and_one_machine() {
    let place = place();
    let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
    let second = VirtioDevice::bind(&place.path, OPTIONS, &set())
        .err()
        .unwrap();
    assert!(matches!(second, ListenError::Taken(_)), "{second}");
    let machine = Machine::new();
    let _monitor = machine.connect(&place.path, ALL);
    let other = std::os::unix::net::UnixStream::connect(&place.path).unwrap();
    wait("it is said", || {
        let remarks = device.lock().remarks();
        remarks.iter().any(|r| r.contains("was rejected"))
    });
    drop(other);
    drop(device);
    assert!(!place.path.exists());
    std::fs::write(&place.path, "no socket").unwrap();
    let file = VirtioDevice::bind(&place.path, OPTIONS, &set())
        .err()
        .unwrap();
    assert!(matches!(file, ListenError::NoSocket(_)), "{file}");
}

/// A monitor that begins a message and does not end it, and one that sends an invalid message.
#[test]
fn monitors_that_make_no_sense_lose_their_connection() {
    use std::io::Write;
    let place = place();
    let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
    for bytes in [&[1, 0, 0, 0, 1, 0, 0, 0, 200, 0, 0, 0, 1][..], &[0xFF; 64]] {
        let mut stream = std::os::unix::net::UnixStream::connect(&place.path).unwrap();
        stream.write_all(bytes).unwrap();
        wait("it is closed", || {
            let remarks = device.lock().remarks();
            remarks
                .iter()
                .any(|r| r.contains("its connection was closed"))
        });
    }
    let machine = Machine::new();
    let _monitor = machine.connect(&place.path, ALL);
    assert_eq!(device.lock().link(), DeviceLink::Stopped);
}

/// A monitor that stops after half of a header blocks no other work, and may continue later.
#[test]
fn a_monitor_that_stands_still_in_a_header_is_waited_for_without_work() {
    use std::io::Write;
    let place = place();
    let mut device = VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap();
    let is_ready = |device: &VirtioDevice| {
        let mut poll = linux::PollSet::with_capacity(1);
        poll.add_fd(device.events().set().as_fd().as_raw_fd(), true, false);
        poll.wait(Some(std::time::Duration::ZERO)).unwrap() > 0
    };
    let mut stream = std::os::unix::net::UnixStream::connect(&place.path).unwrap();
    // `VHOST_USER_SET_OWNER`, version 1, no body.
    let message = [3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    stream.write_all(&message[..5]).unwrap();
    assert!(is_ready(&device));
    // The connection, then the first part of the message.
    device.work(0);
    device.work(0);
    assert!(!is_ready(&device), "there is nothing to do");
    assert_eq!(device.link(), DeviceLink::Absent);
    stream.write_all(&message[5..]).unwrap();
    assert!(is_ready(&device));
    device.work(0);
    assert_eq!(device.link(), DeviceLink::Stopped);
    drop(stream);
    assert!(is_ready(&device));
    device.work(0);
    assert_eq!(device.link(), DeviceLink::Absent);
}

/// With a time that does not advance (`work` gets the same instant each time), each call still
/// returns: with a header whose body does not come, with a body in pieces, with answers that are
/// not read.
#[test]
fn no_monitor_blocks_its_server() {
    use std::io::Write;
    let place = place();
    let mut device = VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap();
    let connect = || std::os::unix::net::UnixStream::connect(&place.path).unwrap();
    let output = |device: &mut VirtioDevice, what: &str| {
        let remarks = device.remarks();
        assert!(remarks.iter().any(|r| r.contains(what)), "{remarks:?}");
    };
    // `VHOST_USER_SET_FEATURES`, which has 8 bytes.
    let message = [2, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
    let mut stream = connect();
    stream.write_all(&message[..12]).unwrap();
    for now in [1000, 2000, 3000] {
        device.work(now);
    }
    assert_eq!(device.deadline(), Some(2000 + 200_000_000));
    assert_eq!(device.link(), DeviceLink::Absent, "no message is there");
    for piece in message[12..].chunks(3) {
        stream.write_all(piece).unwrap();
        device.work(4000);
    }
    assert_eq!(device.link(), DeviceLink::Stopped, "the message was served");
    assert_eq!(device.deadline(), None);
    stream.write_all(&message[..13]).unwrap();
    device.work(5000);
    device.work(200_004_999);
    assert_eq!(device.deadline(), Some(200_005_000));
    assert_eq!(device.link(), DeviceLink::Stopped);
    device.work(200_005_000);
    assert_eq!(device.link(), DeviceLink::Absent);
    assert_eq!(device.alarms().len(), 1, "a user hears of it at once");
    output(&mut device, "its body did not arrive");
    // One that disconnects in the middle of a message, or of a header.
    for part in [13, 5] {
        let mut stream = connect();
        stream.write_all(&message).unwrap();
        stream.write_all(&message[..part]).unwrap();
        device.work(0);
        device.work(0);
        drop(stream);
        device.work(0);
        assert_eq!(device.link(), DeviceLink::Absent, "after {part} bytes");
        output(&mut device, "has closed its connection");
    }
    // `VHOST_USER_GET_FEATURES`, repeatedly, without reading the answers.
    let mut stream = connect();
    stream.set_nonblocking(true).unwrap();
    let ask = [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let mut served = 0;
    device.work(0);
    while device.link() != DeviceLink::Absent || served == 0 {
        while served < 100_000 && stream.write(&ask).is_ok_and(|n| n == ask.len()) {
            served += 1;
        }
        // After a limited number of messages the call returns, for the benefit of others.
        device.work(0);
        assert!(served < 100_000, "it is never sent away");
    }
    output(&mut device, "it reads no answers");
}

/// The monitor of a machine could shrink a file, and SIGBUS would terminate the gateway.
#[test]
fn memory_that_can_shrink_is_refused() {
    let place = place();
    let options = |unsealed| DeviceOptions {
        unsealed,
        ..OPTIONS
    };
    let file = || {
        let file = tempfile::tempfile().unwrap();
        file.set_len(machine::SIZE).unwrap();
        file
    };
    let memfd = || {
        use rustix::fs::{MemfdFlags, memfd_create};
        let memory = memfd_create("machine", MemfdFlags::ALLOW_SEALING).unwrap();
        let memory = std::fs::File::from(memory);
        memory.set_len(machine::SIZE).unwrap();
        memory
    };
    let device = Worked::new(VirtioDevice::bind(&place.path, options(false), &set()).unwrap());
    for memory in [file(), memfd()] {
        let machine = Machine::in_file(memory);
        assert!(machine.try_connect(&place.path, ALL).is_err());
        wait("it is said why", || {
            let remarks = device.lock().remarks();
            remarks
                .iter()
                .any(|r| r.contains("F_SEAL_SHRINK is not set"))
        });
        assert_eq!(device.lock().link(), DeviceLink::Absent);
    }
    let _monitor = Machine::new().connect(&place.path, ALL);
    drop(device);
    let device = Worked::new(VirtioDevice::bind(&place.path, options(true), &set()).unwrap());
    let _monitor = Machine::in_file(file()).connect(&place.path, ALL);
    assert_eq!(device.lock().link(), DeviceLink::Stopped);
}

/// A monitor that has filled the counter of an interrupt, and one that passes a file instead.
#[test]
fn an_interrupt_is_not_waited_for() {
    use std::io::{Read as _, Write as _};
    let place = place();
    let device = Worked::new(VirtioDevice::bind(&place.path, OPTIONS, &set()).unwrap());
    let mut machine = Machine::new();
    let monitor = machine.connect(&place.path, ALL);
    let full = vmm_sys_util::eventfd::EventFd::new(0).unwrap();
    full.write(u64::MAX - 1).unwrap();
    for queue in [TX, CONTROL] {
        monitor.set_vring_call(queue, &full).unwrap();
    }
    machine.command(MESSAGE_START);
    assert_eq!(device.lock().link(), DeviceLink::Up);
    drop(monitor);
    wait("it is gone", || device.lock().link() == DeviceLink::Absent);
    // `VHOST_USER_SET_VRING_CALL` of the first queue, with an answer, and a file.
    let mut stream = std::os::unix::net::UnixStream::connect(&place.path).unwrap();
    let file = tempfile::tempfile().unwrap();
    let mut space = [const { std::mem::MaybeUninit::uninit() }; rustix::cmsg_space!(ScmRights(1))];
    let mut with = rustix::net::SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    assert!(with.push(rustix::net::SendAncillaryMessage::ScmRights(&files)));
    let message = [13, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let slices = [std::io::IoSlice::new(&message)];
    rustix::net::sendmsg(&stream, &slices, &mut with, rustix::net::SendFlags::empty()).unwrap();
    wait("it is said why", || {
        let remarks = device.lock().remarks();
        remarks.iter().any(|r| r.contains("is not an eventfd"))
    });
    stream.flush().unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "it was sent away");
}

/// A driver that has several frames under way is notified of half of them together, or when the
/// delay is over; one that has a single frame, immediately.
#[test]
fn several_frames_that_were_sent_take_one_interrupt() {
    const LATER: u64 = 1_000;
    let place = place();
    let options = DeviceOptions {
        coalesce: LATER,
        ..OPTIONS
    };
    let mut device = VirtioDevice::bind(&place.path, options, &set()).unwrap();
    let machine = RefCell::new(Machine::new());
    let _monitor = connect_while(&machine, &place.path, ALL, || device.work(0));
    command_in(&machine, MESSAGE_START, || device.work(0));
    let interrupts = || machine.borrow().calls[TX].read().unwrap_or(0);
    let send = |device: &mut VirtioDevice, frames: u16, now: u64| {
        for head in 0..frames {
            machine.borrow_mut().send(TX, head, &message(1, &[]));
        }
        let mut tickets = Vec::new();
        device.work(now);
        device.take(100, &mut |taken| tickets.push(taken.ticket));
        assert_eq!(tickets.len(), usize::from(frames));
        device.notify_and_arm();
        assert_eq!(interrupts(), 0, "nothing was sent yet");
        tickets
    };
    let end = |device: &mut VirtioDevice, ticket, now| {
        device.work(now);
        device.finish(ticket, true);
        device.notify_and_arm();
        let there = machine.borrow_mut().back(TX);
        assert!(there.is_some(), "the result is there at the end of frame");
        interrupts()
    };
    let one = send(&mut device, 1, 0);
    assert_eq!(end(&mut device, one[0], 0), 1);
    // 8 under way: 1 and 7, 2 and 6, 3 and 5, 4 and 4: interrupt; then 1 and 3, 2 and 2: interrupt;
    // 1 and 1: interrupt; the last one.
    let eight = send(&mut device, 8, 10);
    let reported: Vec<u64> = eight.iter().map(|t| end(&mut device, *t, 20)).collect();
    assert_eq!(reported, [0, 0, 0, 1, 0, 1, 1, 1]);
    assert_eq!(device.deadline(), None);
    // The delay is over before half of them have ended.
    let five = send(&mut device, 5, 100);
    assert_eq!(end(&mut device, five[0], 200), 0);
    assert_eq!(device.deadline(), Some(200 + LATER));
    device.work(200 + LATER - 1);
    device.notify_and_arm();
    assert_eq!(interrupts(), 0);
    device.work(200 + LATER);
    device.notify_and_arm();
    assert_eq!((interrupts(), device.deadline()), (1, None));
    // Failed frames count as ended, too, and no notification is missing at the end.
    assert_eq!(end(&mut device, five[1], 2_000), 0);
    command_in(&machine, MESSAGE_STOP, || device.work(2_000));
    for ticket in &five[2..] {
        device.finish(*ticket, false);
    }
    device.notify_and_arm();
    assert_eq!((interrupts(), device.deadline()), (1, None));
}
