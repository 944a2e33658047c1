//! The client's end: the frames of a ring as lines of the protocol.

use super::protocol::WatchedFrames;
use linux::can::layout::{XL_SIZE, decode};
use std::sync::Arc;
use worker::watching::WatchChannel;

/// The most frames of one line. A line of this many XL frames has a megabyte.
const LINE_FRAMES: usize = 256;

/// The frames for one client. When it is dropped, the client has gone.
pub(crate) struct WatchFeed {
    channel: Arc<WatchChannel>,
    /// The losses that the client was told.
    told: u64,
    /// Records of the ring that are not frames.
    undecodable: u64,
    buffer: Box<[u8]>,
}

impl WatchFeed {
    pub(crate) fn new(channel: Arc<WatchChannel>) -> Self {
        Self {
            channel,
            told: 0,
            undecodable: 0,
            buffer: vec![0; XL_SIZE].into_boxed_slice(),
        }
    }

    /// Returns the next line; `None` if there is nothing that the client does not know.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        // Before the frames: those that are lost from here on are told with the next line.
        let lost = self.channel.ring.lost();
        let mut frames = Vec::new();
        // Only this thread adds names, so that none is missing.
        let names = self.channel.names();
        while frames.len() < LINE_FRAMES
            && let Some((record, length)) = self.channel.ring.pop(&mut self.buffer)
        {
            let bytes = self.buffer.get(..length).unwrap_or_default();
            // The worker wrote the bytes by the same layout, so that only a mistake of this program
            // gets here; the client learns of it.
            let Some(frame) = decode(bytes) else {
                self.undecodable += 1;
                continue;
            };
            let name = names.get(usize::from(record.port));
            frames.push((
                record.stamp,
                name.cloned().unwrap_or_default(),
                record.is_sent,
                frame.to_string(),
            ));
        }
        let losses = lost + self.undecodable;
        if frames.is_empty() && losses == self.told {
            return None;
        }
        self.told = losses;
        let undecodable = self.undecodable;
        let watched = WatchedFrames {
            frames,
            lost,
            undecodable,
        };
        Some(watched.line())
    }
}

impl Drop for WatchFeed {
    fn drop(&mut self) {
        self.channel.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::FrameBuf;
    use linux::can::layout::encode;
    use worker::watching::{RING_WORDS, RingRecord};

    fn push(channel: &WatchChannel, stamp: u64, port: &str, text: &str) {
        let mut frame = FrameBuf::new();
        frame::text::parse_frame(text.as_bytes(), &mut frame).unwrap();
        let mut bytes = [0; XL_SIZE];
        let length = encode(frame.view(), &mut bytes).unwrap();
        let record = RingRecord {
            stamp,
            port: channel.port(port).unwrap(),
            is_sent: stamp % 2 == 1,
        };
        channel.ring.push(record, &bytes[..length]);
    }

    #[test]
    fn frames_of_every_kind_come_as_they_are() {
        let channel = Arc::new(WatchChannel::new());
        let mut feed = WatchFeed::new(Arc::clone(&channel));
        assert_eq!(feed.line(), None);
        let all = [
            "123#1122",
            "18DAF110#R8",
            "123##1AABB",
            "01123#80:00:12345678#AA",
            "7FF#00_F",
        ];
        let all = all.map(|text| text.replace("7FF#00_F", "7FF#0011223344556677_F"));
        for (at, text) in all.iter().enumerate() {
            push(
                &channel,
                at as u64,
                if at < 2 { "body" } else { "engine" },
                text,
            );
        }
        let line = feed.line().unwrap();
        let found = WatchedFrames::parse(&line).unwrap();
        let texts: Vec<&str> = found.frames.iter().map(|frame| frame.3.as_str()).collect();
        assert_eq!(texts, all);
        assert_eq!(
            found.frames[1],
            (1, "body".to_owned(), true, all[1].clone())
        );
        assert_eq!(found.frames[2].1, "engine");
        assert_eq!((found.lost, feed.line()), (0, None));
    }

    #[test]
    fn what_is_not_a_frame_is_counted() {
        let channel = Arc::new(WatchChannel::new());
        let mut feed = WatchFeed::new(Arc::clone(&channel));
        let record = RingRecord {
            stamp: 1,
            port: channel.port("body").unwrap(),
            is_sent: false,
        };
        channel.ring.push(record, &[0; 5]);
        let found = WatchedFrames::parse(&feed.line().unwrap()).unwrap();
        assert_eq!(
            (found.frames.len(), found.lost, found.undecodable),
            (0, 0, 1)
        );
        assert_eq!(found.missing(), 1);
        assert_eq!(feed.line(), None, "it is told once");
        push(&channel, 2, "body", "123#11");
        let found = WatchedFrames::parse(&feed.line().unwrap()).unwrap();
        assert_eq!((found.frames.len(), found.undecodable), (1, 1));
    }

    #[test]
    fn losses_are_told_once_each() {
        let channel = Arc::new(WatchChannel::new());
        let mut feed = WatchFeed::new(Arc::clone(&channel));
        let room = RING_WORDS / 4;
        for at in 0..room + 3 {
            push(&channel, at as u64, "body", "123#11");
        }
        let lines: Vec<WatchedFrames> = std::iter::from_fn(|| feed.line())
            .map(|line| WatchedFrames::parse(&line).unwrap())
            .collect();
        let frames: usize = lines.iter().map(|line| line.frames.len()).sum();
        assert_eq!(frames, room);
        assert!(lines.iter().all(|line| line.lost == 3));
        assert!(!channel.is_closed());
        drop(feed);
        assert!(channel.is_closed());
    }
}
