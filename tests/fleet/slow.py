"""A slow link: returns each packet of a tun device after a delay, until its input ends.

usage: slow.py DEVICE LATENCY_SECONDS BYTES_A_SECOND
"""

from __future__ import annotations

import collections
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
MOST = 1 << 16  # largest packet in bytes
LONGEST = 1.0  # longest wait for earlier packets in seconds; a longer one loses the packet


def attach(device: str) -> int:
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", device.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def main() -> None:
    tun, latency, rate = attach(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    print(flush=True)  # tells the parent that it is ready
    waiting: collections.deque[tuple[float, bytes]] = collections.deque()
    free = 0.0  # time at which the link has passed on all packets
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        readable, _, _ = select.select([tun, 0], [], [], left)
        if 0 in readable:
            return
        now = time.monotonic()
        if tun in readable:
            packet = os.read(tun, MOST)
            if free - now < LONGEST:
                free = max(free, now) + len(packet) / rate
                waiting.append((free + latency, packet))
        while waiting and waiting[0][0] <= now:
            os.write(tun, waiting.popleft()[1])


if __name__ == "__main__":
    main()
