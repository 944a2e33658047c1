"""References for the tests: slow and obvious."""

import cangate


def scheduled(frames):
    """The ends of frames on a bus, ns: a slow and obvious reference for error-free traffic.

    ``frames`` are pairs of a release, ns, and a message; IDs of standard frames only.
    """
    waiting, ends, free = sorted(frames, key=lambda pair: pair[0]), [], 0
    while waiting:
        free = max(free, waiting[0][0])
        ready = [pair for pair in waiting if pair[0] <= free]
        chosen = min(ready, key=lambda pair: pair[1].arbitration_id)
        waiting.remove(chosen)
        timing = cangate.timing(chosen[1])
        ends.append((free + timing.duration_ns, chosen[1].arbitration_id))
        free += timing.occupied_ns
    return ends
