"""Following one long log on a bad line: the connection is cut again and again, and the server is killed meanwhile. The follower is
`trainmaster logs -f`; what it prints must be what the task wrote, byte for byte, and so must the log that is read when all is over.
"""

import contextlib
import hashlib
import os
import random
import socket
import subprocess
import threading
import time

CUT_BYTES = (2_000_000, 200_000_000)
BETWEEN_KILLS_S = 5
PIECE_BYTES = 1 << 18


class Relay:
    """Stands before a server and closes every connection after so many bytes of its answers."""

    def __init__(self, port, seed=7):
        self.upstream, self.dice, self.cuts = port, random.Random(seed), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                line, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=[line], daemon=True).start()

    def serve(self, line):
        with line, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.upstream)) as server:
            threading.Thread(target=pass_on, args=[line, server, float("inf")], daemon=True).start()
            self.cuts += not pass_on(server, line, self.dice.randrange(*CUT_BYTES))

    def close(self):
        self.listener.close()


def pass_on(source, target, bytes_max):
    """Answers whether the source came to its own end."""
    left = bytes_max
    with contextlib.suppress(OSError):
        while left > 0 and (piece := source.recv(PIECE_BYTES)):
            target.sendall(piece)
            left -= len(piece)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    return left > 0


class Hashed(threading.Thread):
    """Reads all that a program prints, and remembers what it was."""

    def __init__(self, program):
        super().__init__(daemon=True)
        self.pipe, self.digest, self.bytes = program.stdout, hashlib.sha256(), 0

    def run(self):
        while piece := self.pipe.read(1 << 20):
            self.digest.update(piece)
            self.bytes += len(piece)


def ended_within(program, time_s):
    with contextlib.suppress(subprocess.TimeoutExpired):
        program.wait(time_s)
    return program.returncode is not None


def follow(server, job, within_s):
    """Follows a job to its end; returns what was printed, and how often the line was cut and the server killed."""
    relay, kills = Relay(server.port), 0
    # Who is called by a name that is not its own answers nobody.
    server.other_names = [f"127.0.0.1:{relay.port}"]
    server.kill()
    server.start()
    settings = {**os.environ, "TRAINMASTER_URL": f"http://127.0.0.1:{relay.port}", "TRAINMASTER_TOKEN": server.token()}
    program = subprocess.Popen([server.binary, "logs", "-f", job, "--task", "main-0"], env=settings, stdout=subprocess.PIPE)
    printed = Hashed(program)
    printed.start()
    try:
        deadline = time.monotonic() + within_s
        while not ended_within(program, BETWEEN_KILLS_S):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the follower has not ended within {within_s} s")
            server.kill()
            server.start()
            kills += 1
        printed.join(within_s)
    finally:
        program.kill()
        relay.close()
    return {"hash": printed.digest.hexdigest(), "printed_bytes": printed.bytes, "exit": program.returncode, "cuts": relay.cuts, "kills": kills}
