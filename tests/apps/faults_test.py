"""Faults in the middle of a training with workers: it goes on, nothing hangs, and what comes out is what a simulation gives of
workers that are away in the same steps, to the bit.

Run by CTest as: faults_test.py MEDGRAD, with a dozen faults; faults_test.py MEDGRAD 50 [SEED] has more, and some on MPI, which
end the run, and it is resumed. Every fault strikes at a random moment of one long training, once it has recovered from the last
one:

    kill     a worker is killed (SIGKILL), and started again by the launcher
    stall    a worker stands still (SIGSTOP) for longer than the deadline, and comes back
    garbage  random bytes arrive where a worker listens
    half     a connection to a worker is half closed, and stays so
    token    somebody with another token wants to join
    disk     the worker that writes cannot write any more, until it has said so
"""

import json
import os
import random
import re
import resource
import shutil
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
# From one step to the next, whatever happens: a deadline to notice, one to form a group where no launcher tells, and as many
# again; and seconds for a busy machine.
HANG = 5 * DEADLINE + 5
PATIENCE = 60.0  # with what is no step: libtorch starts on a busy machine, and a worker joins
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


TRAIN = ["train", "logistic", "--size", "small", "--batch", "16", "--method", "sgd-m", "--lr", "0.3", "--threads", "1", "--log-every", "5",
         "--checkpoint-every", "50", "--evaluation-limit", "4", "--aggregate", "median"]


class Run:
    """The folder of a run, and what its files say."""

    def __init__(self, folder):
        self.folder = folder

    def lines(self, tail=None):
        """Of metrics.jsonl, but for one that is being written."""
        try:
            with open(os.path.join(self.folder, "metrics.jsonl"), "rb") as file:
                if tail is not None:
                    file.seek(max(0, os.path.getsize(file.name) - tail))
                    file.readline()
                return [json.loads(line) for line in file.read().split(b"\n")[:-1]]
        except FileNotFoundError:
            return []

    def step(self):
        return max((line["step"] for line in self.lines(8192)), default=0)

    def saved_step(self):
        """Where the checkpoint is."""
        try:
            with open(os.path.join(self.folder, "checkpoint.safetensors"), "rb") as file:
                header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        except FileNotFoundError:
            return 0
        return json.loads(header["__metadata__"]["position"])["step"]

    def losses(self):
        """Of steps, and of evaluations."""
        return [((line["event"], line["step"]), line.get("loss", line.get("training_loss"))) for line in self.lines()
                if line["event"] in ("step", "evaluation")]

    def check(self, workers, events=()):
        """Every step once, and the losses of a simulation in which the same workers are away."""
        losses = self.losses()
        steps = [step for (event, step), _ in losses if event == "step"]
        assert steps == list(range(5, steps[-1] + 1, 5)), "every step once"
        simulation = Run(self.folder + "-simulated")
        subprocess.run([MEDGRAD, *TRAIN, "--workers", str(workers), "--steps", str(losses[-1][0][1]), "--quiet", "--out", simulation.folder,
                        *(("--events", ",".join(events)) if events else ())], check=True, stdout=subprocess.DEVNULL)
        expected = dict(simulation.losses())
        different = [(at, loss, expected.get(at)) for at, loss in losses if loss != expected.get(at)]
        assert not different, f"the first differences from a simulation with {events}: {different[:3]}"


class Training(Run):
    def __init__(self, folder):
        super().__init__(os.path.join(folder, "run"))
        self.logs = os.path.join(folder, "logs")
        self.errors = open(os.path.join(folder, "errors"), "w+b")
        self.train = [*TRAIN, "--steps", "10000000", "--quorum", "2", "--deadline", str(DEADLINE), "--out", self.folder]
        self.seen, self.seen_at = 0, None  # the last step, and when it was new
        # What workers complain of goes through a pipe: one that may write no file can still say so.
        worker = ["bash", "-c", 'exec "$@" 2> >(exec cat >> "$0-$RANK")', os.path.join(folder, "said"), MEDGRAD, *self.train]
        self.said = [f"{worker[3]}-{k}" for k in range(WORKERS)]
        self.launcher = subprocess.Popen([MEDGRAD, "launch", "-n", str(WORKERS), "--restarts", "1000", "--logs", self.logs, "--", *worker],
                                         stdout=subprocess.PIPE, stderr=self.errors, preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))

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

    def changes(self):
        """Of those who take part."""
        return [line for line in self.lines() if line["event"] == "workers"]

    def members(self):
        changes = self.changes()
        return changes[-1]["workers"] if changes else list(range(WORKERS))

    def events(self):
        """Who was away from which step to which, as --events has it."""
        away, events = {}, []
        for line in self.changes():
            for worker in range(WORKERS):
                if worker not in line["workers"]:
                    away.setdefault(worker, line["step"])
                elif worker in away:
                    events.append((worker, away.pop(worker), line["step"]))
        return [f"{worker}:killed@{begin}-{end}" for worker, begin, end in events if end > begin] + \
            [f"{worker}:killed@{begin}" for worker, begin in away.items()]

    def complaints(self, worker):
        """How often it said that it cannot save."""
        with open(self.said[worker], "rb") as said:
            return said.read().count(b"the run goes on without a checkpoint")

    def wait(self, until, what):
        begin = time.monotonic()
        while not until():
            if self.launcher.poll() is not None:
                raise AssertionError(f"the training ended while waiting for {what}")
            now, step = time.monotonic(), self.step()
            if step > self.seen:
                self.seen, self.seen_at = step, now
            if self.seen > 0 and now - max(self.seen_at, begin) > HANG:
                raise AssertionError(f"no step for {HANG} s while waiting for {what}")
            if now - begin > PATIENCE:
                raise AssertionError(f"waited too long for {what}")
            time.sleep(0.05)

    def goes_on(self, what):
        at = self.step()
        self.wait(lambda: self.step() >= at + 20, f"steps after {what}")

    def strike(self, kind, rng):
        members, changes = self.members(), len(self.changes())
        victim = rng.choice(members)
        process = self.workers()[victim]
        if kind == "kill":
            os.kill(process, signal.SIGKILL)
            self.wait(lambda: len(self.changes()) > changes, "a group without the one that was killed")
            self.wait(lambda: victim in self.members(), "the one that was killed to join")
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
            writer = min(members)
            process, before = self.workers()[writer], self.complaints(writer)
            resource.prlimit(process, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            try:
                self.wait(lambda: self.complaints(writer) > before, "a checkpoint that cannot be written")
            finally:
                resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            saved = self.saved_step()
            self.wait(lambda: self.saved_step() > saved, "the next checkpoint")
        self.goes_on(kind)

    def end(self):
        self.launcher.send_signal(signal.SIGINT)
        self.launcher.communicate(timeout=PATIENCE)


def ranks_of(mpirun):
    """Of mpirun: the processes that train, by rank."""
    found, waiting = {}, [mpirun]
    while waiting:
        process = waiting.pop(0)
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as children:
            waiting += [int(child) for child in children.read().split()]
        rank = variables(process).get("OMPI_COMM_WORLD_RANK")
        if rank is not None:
            found[int(rank)] = process  # the last one is what trains
    return found


def on_mpi(folder, rng, count):
    """Kills and stalls end a run on MPI with a sentence, at once or at the deadline, with all steps saved; it is resumed."""
    ranks, run = 3, Run(os.path.join(folder, "mpi"))
    if not shutil.which("mpirun"):
        return
    for k in range(count):
        kind, before = ("kill", "stall")[k % 2], run.saved_step()
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl_base_warn_component_unused", "0", "-n", str(ranks), MEDGRAD,
                   *TRAIN, "--steps", "10000000", "--quiet", "--deadline", str(DEADLINE), "--out", run.folder, *(["--resume"] if k > 0 else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as mpirun:
            try:
                begin = time.monotonic()
                while run.step() < before + 20 and mpirun.poll() is None and time.monotonic() < begin + PATIENCE:
                    time.sleep(0.05)
                time.sleep(rng.random() / 2)
                at = run.step()
                if mpirun.poll() is None:
                    assert at >= before + 20, "waited too long for steps on MPI"
                    # What a stall of worker 0 leaves is the last checkpoint.
                    victim = rng.randrange(0 if kind == "kill" else 1, ranks)
                    os.kill(ranks_of(mpirun.pid)[victim], signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
                struck = time.monotonic()
                said = mpirun.communicate(timeout=HANG)[0].decode()
            finally:
                mpirun.kill()
        if "built without MPI" in said:
            return
        assert mpirun.returncode != 0 and "rerun with --resume to continue" in said, said
        assert run.saved_step() >= at, f"{run.saved_step()} of {at} steps were saved\n{said}"
        print(f"{kind} of rank {victim} on MPI: {time.monotonic() - struck:.1f} s, step {run.saved_step()}", flush=True)
    run.check(ranks)


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
            assert training.saved_step() >= training.step(), "all is saved"
            training.check(WORKERS, training.events())
            evaluations = [loss for (event, _), loss in training.losses() if event == "evaluation"]
            assert evaluations[-1] < 0.9 * evaluations[0], evaluations
        except BaseException:
            training.launcher.kill()
            training.errors.seek(0)
            print(training.errors.read().decode())
            for worker in range(WORKERS):
                with open(training.said[worker], encoding="utf-8", errors="replace") as said:
                    print(f"---- worker {worker}\n{said.read()[-3000:]}")
            raise
        if COUNT > 12:
            on_mpi(folder, rng, COUNT // 8)


if __name__ == "__main__":
    main()
