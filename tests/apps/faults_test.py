"""Faults in the middle of a training with workers: it goes on, and nothing hangs longer than its deadline.

Run by CTest as: faults_test.py MEDGRAD, with a dozen faults; faults_test.py MEDGRAD 50 [SEED] has more. Every fault strikes
at a random moment of one long training, once it has recovered from the last one:

    kill     a worker is killed (SIGKILL), and started again by the launcher
    stall    a worker stands still (SIGSTOP) for longer than the deadline, and comes back
    garbage  random bytes arrive where a worker listens
    half     a connection to a worker is half closed, and stays so
    token    somebody with another token wants to join
    disk     the worker that writes cannot write any more, for a while
"""

import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

MEDGRAD = os.path.abspath(sys.argv[1])
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 12
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 7
WORKERS, DEADLINE = 4, 2.0
PATIENCE = 60.0  # of the test; recovering takes a deadline or two, and starting libtorch on a busy machine
KINDS = ("kill", "stall", "garbage", "half", "token", "disk")


def variables(process):
    with open(f"/proc/{process}/environ", "rb") as file:
        return dict(one.split("=", 1) for one in file.read().decode().split("\0") if "=" in one)


def listening(process):
    """The ports where a process listens."""
    sockets = set()
    for handle in os.listdir(f"/proc/{process}/fd"):
        try:
            sockets.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{process}/fd/{handle}")))
        except FileNotFoundError:
            pass
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in sockets]


class Training:
    def __init__(self, folder):
        self.run, self.logs = os.path.join(folder, "run"), os.path.join(folder, "logs")
        self.errors = open(os.path.join(folder, "errors"), "w+b")
        self.train = ["train", "logistic", "--size", "small", "--batch", "16", "--method", "sgd-m", "--lr", "0.3", "--threads", "1",
                      "--steps", "10000000", "--log-every", "5", "--checkpoint-every", "50", "--evaluation-limit", "4",
                      "--aggregate", "median", "--quorum", "2", "--deadline", str(DEADLINE), "--out", self.run]
        self.launcher = subprocess.Popen(
            [MEDGRAD, "launch", "-n", str(WORKERS), "--restarts", "1000", "--logs", self.logs, "--", *self.train], stdout=subprocess.PIPE, stderr=self.errors,
            preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))

    def workers(self):
        """Processes by number."""
        found = {}
        with open(f"/proc/{self.launcher.pid}/task/{self.launcher.pid}/children", encoding="ascii") as children:
            for child in children.read().split():
                try:
                    found[int(variables(child)["RANK"])] = int(child)
                except (FileNotFoundError, KeyError, ProcessLookupError):
                    pass
        return found

    def lines(self, tail=None):
        try:
            with open(os.path.join(self.run, "metrics.jsonl"), "rb") as file:
                if tail is not None:
                    file.seek(max(0, os.path.getsize(file.name) - tail))
                    file.readline()
                whole = [line for line in file.read().split(b"\n")[:-1]]
            return [json.loads(line) for line in whole]
        except FileNotFoundError:
            return []

    def step(self):
        return max((line["step"] for line in self.lines(8192)), default=0)

    def members(self):
        changes = [line["workers"] for line in self.lines() if line["event"] == "workers"]
        return changes[-1] if changes else list(range(WORKERS))

    def wait(self, until, what):
        begin = time.monotonic()
        while not until():
            if self.launcher.poll() is not None:
                raise AssertionError(f"the training ended while waiting for {what}")
            if time.monotonic() - begin > PATIENCE:
                raise AssertionError(f"waited too long for {what}")
            time.sleep(0.05)

    def goes_on(self, what):
        at = self.step()
        self.wait(lambda: self.step() >= at + 20, f"steps after {what}")

    def strike(self, kind, rng):
        members = self.members()
        victim = rng.choice(members)
        process = self.workers()[victim]
        if kind == "kill":
            os.kill(process, signal.SIGKILL)
            self.wait(lambda: self.workers().get(victim, process) != process, "the one that was killed")
            self.wait(lambda: len(self.members()) == WORKERS and self.members() != members or victim in self.members(),
                      "the one that was killed to join")
        elif kind == "stall":
            os.kill(process, signal.SIGSTOP)
            try:
                self.wait(lambda: victim not in self.members(), "a group without the one that stands still")
                self.goes_on("a stall")
            finally:
                os.kill(process, signal.SIGCONT)
            self.wait(lambda: victim in self.members(), "the one that stood still")
        elif kind in ("garbage", "half"):
            strangers = []
            for port in listening(process):
                try:
                    stranger = socket.create_connection(("127.0.0.1", port), timeout=5)
                    strangers.append(stranger)
                    stranger.sendall(rng.randbytes(rng.randrange(1, 5000) if kind == "garbage" else rng.randrange(0, 20)))
                    stranger.close() if kind == "garbage" else stranger.shutdown(socket.SHUT_WR)
                except ConnectionError:
                    pass  # a group has formed since, which listens elsewhere
            self.goes_on(kind)
            for stranger in strangers:
                stranger.close()
        elif kind == "token":
            wrong = dict(variables(process), MEDGRAD_TOKEN="another")
            done = subprocess.run([MEDGRAD, *self.train], env=wrong, capture_output=True, timeout=PATIENCE, check=False)
            assert done.returncode == 2, done
            assert b"token is not that of the run" in done.stderr, done.stderr
        elif kind == "disk":
            process = self.workers()[min(members)]
            resource.prlimit(process, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            time.sleep(1)
            resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.goes_on(kind)

    def end(self):
        self.launcher.send_signal(signal.SIGINT)
        self.launcher.communicate(timeout=PATIENCE)


def main():
    rng = random.Random(SEED)
    kinds = [KINDS[k % len(KINDS)] for k in range(COUNT)]
    rng.shuffle(kinds)
    with tempfile.TemporaryDirectory() as folder:
        training = Training(folder)
        try:
            training.wait(lambda: training.step() >= 20, "the first steps")
            for kind in kinds:
                time.sleep(rng.random() / 2)
                begin = time.monotonic()
                training.strike(kind, rng)
                print(f"{kind}: {time.monotonic() - begin:.1f} s, step {training.step()}", flush=True)
            training.end()
            lines = training.lines()
            evaluations = [line["training_loss"] for line in lines if line["event"] == "evaluation"]
            steps = [line["step"] for line in lines if line["event"] == "step"]
            assert evaluations[-1] < 0.9 * evaluations[0], evaluations
            assert len(steps) == len(set(steps)), "a step was taken twice"
            assert os.path.exists(os.path.join(training.run, "checkpoint.safetensors"))
        except BaseException:
            training.launcher.kill()
            training.errors.seek(0)
            print(training.errors.read().decode())
            for worker in range(WORKERS):
                with open(os.path.join(training.logs, f"worker-{worker}.log"), encoding="utf-8", errors="replace") as log:
                    print(f"---- worker {worker}\n{log.read()[-3000:]}")
            raise


if __name__ == "__main__":
    main()
