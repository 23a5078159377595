"""A process tree that does not want to be stopped.

    escape_artist.py KIND MARKER READY

Every process of the tree carries the marker on its command line or in its environment. The file READY
is made once the tree stands.
"""

import os
import signal
import sys
import time


def stay():
    while True:
        time.sleep(3600)


def child(action):
    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(0)
    return pid


def plain():
    child(stay)


def double_fork():
    os.waitpid(child(lambda: child(stay)), 0)


def own_session():
    child(lambda: (os.setsid(), stay()))


def daemon():
    def first():
        os.setsid()
        child(lambda: (close_all(), os.chdir("/"), stay()))

    os.waitpid(child(first), 0)


def close_all():
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)


def nohup():
    child(lambda: (signal.signal(signal.SIGHUP, signal.SIG_IGN), os.setsid(), stay()))


def deaf():
    ignore_all()
    child(stay)


def ignore_all():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)


def own_group():
    child(lambda: (os.setpgid(0, 0), ignore_all(), stay()))


def reborn():
    """Leaves a fresh child behind whenever it is asked to go."""

    def leave(*_):
        child(lambda: (os.setsid(), stay()))
        os._exit(0)

    child(lambda: (signal.signal(signal.SIGTERM, leave), os.setsid(), stay()))


def zombies():
    for _ in range(10):
        child(lambda: None)
    child(stay)


def frozen():
    child(lambda: (os.setsid(), os.kill(os.getpid(), signal.SIGSTOP), stay()))


def stripped():
    """Without its environment, under another name, in a session of its own."""
    child(lambda: (os.setsid(), os.execve("/bin/sh", ["sh", "-c", f"sleep 3600; : {MARKER}"], {})))


def runner():
    """Never the same process for long: each lives a few milliseconds and leaves another."""

    def run():
        os.setsid()
        for _ in range(100_000):
            if os.fork():
                os._exit(0)
            time.sleep(0.01)

    child(run)


def wide():
    for _ in range(20):
        child(lambda: (os.setsid(), stay()))


def deep():
    def down(levels):
        if levels:
            child(lambda: (os.setpgid(0, 0), down(levels - 1)))
        stay()

    child(lambda: down(10))


def own_namespace():
    """A process namespace of its own, where the kernel grants one."""
    child(lambda: os.execvp("unshare", ["unshare", "--user", "--pid", "--fork", "sh", "-c", f"trap '' TERM; sleep 3600; : {MARKER}"]))


KINDS = [plain, double_fork, own_session, daemon, nohup, deaf, own_group, reborn, zombies, frozen, stripped, runner, wide, deep, own_namespace]

if __name__ == "__main__":
    MARKER = sys.argv[2]
    {kind.__name__: kind for kind in KINDS}[sys.argv[1]]()
    time.sleep(0.1)  # The children have begun their lives.
    with open(sys.argv[3], "w"):
        pass
    stay()
