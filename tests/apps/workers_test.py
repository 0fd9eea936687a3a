"""medgrad train with workers: simulated in one process, and as processes that die, stall and come.

Run by CTest as: workers_test.py MEDGRAD.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from command import MEDGRAD, CommandTest, content, run

TRAIN = ("train", "logistic", "--size", "small", "--batch", "16", "--method", "sgd-m", "--lr", "0.3", "--log-every", "5",
         "--evaluation-limit", "4", "--threads", "1")


def lines(*folder, running=False):
    """metrics.jsonl without what depends on the clock; of a run that goes on, without the line that is being written."""
    text = content(*folder, "metrics.jsonl").decode()
    if running:
        text = text[:text.rfind("\n") + 1]
    all_lines = [json.loads(line) for line in text.splitlines()]
    for line in all_lines:
        line.pop("seconds", None)
        for one in line.get("blame", []):
            one.pop("seconds")
    return all_lines


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def scores(output):
    """What was printed, without times and the folder."""
    found = [line.split() for line in output.decode().splitlines() if not re.match(r"# \d+ steps", line)]
    return [words[:8] + words[9:] for words in found]  # the ninth of the table is seconds


class WorkersTest(CommandTest):
    def launch(self, count, *arguments, options=()):
        return run("launch", "-n", count, "--logs", self.path("logs"), *options, "--", *TRAIN, *arguments)

    def log(self, worker):
        return content(self.path("logs", f"worker-{worker}.log")).decode()

    def test_processes_give_the_bits_of_a_simulation(self):
        for k, how in enumerate((("--aggregate", "nnm+median", "--byzantine", "1", "--attack", "alie"),
                                 ("--aggregate", "centered-clipping", "--topology", "server"))):
            steps = ("--steps", "20", *how)
            simulated = self.good(*TRAIN, *steps, "--workers", "4", "--out", self.path(f"simulated{k}"))
            done = self.launch(4, *steps, "--out", self.path(f"launched{k}"))
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(lines(self.path(f"launched{k}")), lines(self.path(f"simulated{k}")))
            self.assertEqual(content(self.path(f"launched{k}", "config.json")),
                             content(self.path(f"simulated{k}", "config.json")))
            self.assertEqual(scores(done.stdout), scores(simulated))
            self.assertIn(b"# worker ", simulated)
            self.assertEqual(sorted(os.listdir(self.path("logs"))), [f"worker-{r}.log" for r in range(4)])
        # What processes began, a simulation can go on with.
        resume = (*TRAIN, "--steps", "30", *how, "--workers", "4", "--resume", "--out")
        self.good(*resume, self.path("launched1"))
        self.good(*resume, self.path("simulated1"))
        self.assertEqual(lines(self.path("launched1")), lines(self.path("simulated1")))

    def test_events(self):
        """Lies, flipped bits and a death on the way are the same for processes and simulations."""
        events = ("--steps", "20", "--aggregate", "median", "--events", "3:ipm:strength=20@5,2:bit-flip@8-15,1:killed@12")
        self.good(*TRAIN, *events, "--workers", "5", "--out", self.path("simulated"))
        done = self.launch(5, *events, "--out", self.path("launched"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.decode(), r"Worker 1 was ended by signal 9")
        self.assertEqual(lines(self.path("launched")), lines(self.path("simulated")))
        changes = [line for line in lines(self.path("simulated")) if line["event"] == "workers"]
        self.assertEqual(changes, [{"event": "workers", "step": 12, "workers": [0, 2, 3, 4]}])
        # One that was stopped in between goes on with the same bytes.
        for steps in ("14", "20"):
            self.good(*TRAIN, "--steps", steps, *events[2:], "--workers", "5", "--out", self.path("stopped"),
                      *(("--resume",) if steps == "20" else ()))
        kept = [line for line in lines(self.path("stopped")) if line["event"] != "evaluation" or line["step"] in (0, 20)]
        self.assertEqual(kept, lines(self.path("simulated")))

    def test_a_film(self):
        """The film, on a small problem: what its results and claims say can be checked against its events."""
        film = json.loads("".join(self.good("reproduce", "film", "--print").decode().splitlines(keepends=True)[1:]))
        film.update(size="small", batch=32, steps=96, lr=0.1, rules=["mean", "median", "nnm+median:f=2"],
                    events=["4:ipm:strength=20@16", "3:bit-flip@32", "1:killed@48-64"], workers=6)
        out = self.path("films")
        self.good("run", self.file("film.json", json.dumps(film)), "--out", out, "--no-svg")
        summary = json.loads(content(out, "film", "summary.json"))
        claims = {claim["claim"]: claim["holds"] for claim in summary["claims"]}
        self.assertEqual(len(claims), 9)
        self.assertIs(claims["the mean is lost: it ends worse than it began"], True)
        self.assertIs(claims["nnm+median:f=2: the final loss is within 5 % of that of the mean where nobody fails"], True)
        rows = [line.split(",") for line in content(out, "film", "results.csv").decode().splitlines()]
        at = {name: k for k, name in enumerate(rows[0])}
        here = {int(row[at["step"]]): float(row[at["value"]]) for row in rows[1:]
                if row[at["metric"]] == "workers" and row[at["method"]] == "median"}
        self.assertEqual(here, {step: 5 if 48 < step <= 64 else 6 for step in range(4, 97, 4)})
        film["events"] = ["1:killed@48", "2:killed@50"]
        self.bad("In step 50 the rule has 4 workers, which is too few: f is 2", "run", self.file("film.json", json.dumps(film)))

    def test_who_differs_from_most_is_named(self):
        """Also where it is worker 0, whose state all would begin with: the others go on without it."""
        differs = "[ $RANK = 0 ] && set -- \"$@\" --seed 5; exec \"$@\""
        done = run("launch", "-n", "3", "--logs", self.path("logs"), "--", "sh", "-c", differs, "sh", MEDGRAD, *TRAIN, "--steps", "10",
                   "--aggregate", "median", "--out", self.path("run"))
        self.assertTrue(self.log(0).endswith("\nmedgrad: Worker 0 has another 'seed' than the others.\n"), self.log(0))
        self.assertIn("Worker 0 ended with exit code 2; 2 others are left.", done.stderr.decode())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.changes(), [[1, 2]])
        self.assertEqual(json.loads(content(self.path("run", "config.json")))["seed"], 0)

    def test_torchruns_variables(self):
        workers = self.by_variables(2, *TRAIN, "--steps", "10", "--aggregate", "median", "--out", self.path("run"))
        said = [worker.communicate(timeout=120) for worker in workers]
        self.assertEqual([worker.returncode for worker in workers], [0, 0], said)
        self.good(*TRAIN, "--steps", "10", "--aggregate", "median", "--workers", "2", "--out", self.path("same"))
        self.assertEqual(lines(self.path("run")), lines(self.path("same")))
        self.assertEqual(said[1][0], b"", "one of them prints the results")

    def test_torchrun_starts_all_again(self):
        """Its store outlives them: those who come later must not meet those who are gone."""
        port = free_port()
        store = subprocess.Popen([sys.executable, "-c", "import time, torch, torch.distributed as d\n"
                                  f"store = d.TCPStore('127.0.0.1', {port}, None, True)\n"
                                  "print(torch.__version__, flush=True)\ntime.sleep(300)"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(store.stdout.close)
        self.addCleanup(store.wait)
        self.addCleanup(store.kill)
        version = json.loads(self.good("doctor", "--format", "json"))["torch"]["version"]
        if store.stdout.readline().decode().split(".")[0] != version.split(".")[0]:
            self.skipTest(f"this Python has no PyTorch like libtorch {version}, whose store it would be")
        for times in range(2):
            workers = self.by_variables(2, *TRAIN, "--steps", "10", "--aggregate", "median", "--out", self.path(f"run{times}"),
                                        MASTER_PORT=port, TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT=str(times))
            self.finish(workers)
        self.assertEqual(lines(self.path("run0")), lines(self.path("run1")))

    def two_hosts(self):
        """Two hosts, as far as a worker can tell: namespaces with a network of their own, 10.213.77.1 and .2, and a cable between
        them. Returns what a command begins with on each, and a file with a token."""
        names = [f"medgrad-{os.getpid()}-{k}" for k in range(2)]
        cable = [f"mg{os.getpid() % 100000}{end}" for end in "ab"]

        def ip(*arguments):
            return subprocess.run(["ip", *arguments], capture_output=True, check=False).returncode == 0

        self.addCleanup(lambda: [ip("netns", "del", name) for name in names])
        allowed = shutil.which("ip") and all(ip("netns", "add", name) for name in names) and \
            ip("link", "add", cable[0], "netns", names[0], "type", "veth", "peer", "name", cable[1], "netns", names[1]) and \
            all(ip("-n", name, "addr", "add", f"10.213.77.{k + 1}/24", "dev", cable[k]) and ip("-n", name, "link", "set", cable[k], "up") and
                ip("-n", name, "link", "set", "lo", "up") for k, name in enumerate(names))
        if not allowed:
            self.skipTest("this machine does not allow network namespaces")
        return [["ip", "netns", "exec", name] for name in names], self.file("token", "between us\n")

    def on_host(self, command, **variables):
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, **variables))
        self.addCleanup(lambda: worker.poll() is None and worker.kill())
        return worker

    def finish(self, workers):
        said = [worker.communicate(timeout=120) for worker in workers]
        self.assertEqual([worker.returncode for worker in workers], [0] * len(workers), said)

    def test_across_network_namespaces(self):
        hosts, token = self.two_hosts()
        how = [MEDGRAD, *TRAIN, "--steps", "20", "--aggregate", "median", "--out", self.path("run")]
        self.finish([self.on_host([*host, *how], RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="10.213.77.1", MASTER_PORT="29533",
                                MEDGRAD_TOKEN_FILE=token) for rank, host in enumerate(hosts)])
        self.good(*TRAIN, "--steps", "20", "--aggregate", "median", "--workers", "2", "--out", self.path("same"))
        self.assertEqual(lines(self.path("run")), lines(self.path("same")))

    def test_a_worker_of_another_host_joins(self):
        """Two workers of a launcher, and one more that comes later, from elsewhere, to the port that the launcher has for it."""
        hosts, token = self.two_hosts()
        train = [*TRAIN, "--aggregate", "median", "--steps", "1000000", "--deadline", "3", "--out", self.path("run")]
        launcher = self.on_host([*hosts[0], MEDGRAD, "launch", "-n", "2", "--world", "3", "--host", "10.213.77.1", "--port", "29534",
                                 "--logs", self.path("logs"), "--", *train], MEDGRAD_TOKEN_FILE=token)
        self.wait_for_workers(launcher, [0, 1])
        comer = self.on_host([*hosts[1], MEDGRAD, *train], RANK="2", WORLD_SIZE="3", MEDGRAD_STORE="10.213.77.1:29534",
                             MEDGRAD_TOKEN_FILE=token)
        self.wait_for_workers(launcher, [0, 1, 2])
        launcher.send_signal(signal.SIGTERM)
        for worker in (launcher, comer):
            said = worker.communicate(timeout=60)[1].decode()
            self.assertEqual(worker.returncode, 1, said)
            self.assertIn("medgrad: stopped; ", said)

    def wait_for_workers(self, launcher, wanted):
        """Until metrics.jsonl says that just these are at work."""
        file = os.path.join(self.path("run"), "metrics.jsonl")
        for _ in range(3000):
            self.assertIsNone(launcher.poll())
            text = content(file).decode() if os.path.exists(file) else ""
            told = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
            if [line["workers"] for line in told if line["event"] == "workers"][-1:] == [wanted]:
                return
            time.sleep(0.02)
        self.fail(f"The workers {wanted} never came together.")

    def mpirun(self, count, *arguments, steps, options=()):
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl_base_warn_component_unused", "0", "-n", str(count),
                   MEDGRAD, *TRAIN, *arguments, "--steps", str(steps), "--aggregate", "median", "--out", self.path("run"), *options]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(lambda: worker.poll() is None and worker.kill())
        return worker

    def ranks_of(self, worker):
        """Of mpirun: the processes that train, by rank."""
        found, waiting = {}, [worker.pid]
        while waiting:
            with open(f"/proc/{waiting[0]}/task/{waiting[0]}/children", encoding="ascii") as children:
                waiting += [int(child) for child in children.read().split()]
            with open(f"/proc/{waiting[0]}/environ", "rb") as environment:
                rank = re.search(rb"\0OMPI_COMM_WORLD_RANK=(\d+)\0", b"\0" + environment.read())
            if rank:
                found[int(rank[1])] = waiting[0]  # the last one is what trains
            waiting.pop(0)
        return found

    def saved_step(self):
        """Where the checkpoint is."""
        with open(self.path("run", "checkpoint.safetensors"), "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        return json.loads(header["__metadata__"]["position"])["step"]

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_mpi(self):
        """The bits of a simulation; a death and a stall end all with a checkpoint, from which one goes on."""
        worker = self.mpirun(3, steps=20)
        said = worker.communicate(timeout=120)[0].decode()
        if "built without MPI" in said:
            self.skipTest("this build has no MPI")
        self.assertEqual(worker.returncode, 0, said)
        self.good(*TRAIN, "--steps", "20", "--aggregate", "median", "--workers", "3", "--out", self.path("same"))
        self.assertEqual(lines(self.path("run")), lines(self.path("same")))
        for what, rank, deadline, sentence in (
                (signal.SIGKILL, 1, "30", "signal 9"), (signal.SIGKILL, 0, "30", "signal 9"),
                (signal.SIGSTOP, 1, "2", r"A worker is lost, and mpi cannot go on without it\. The run is saved at step")):
            before = lines(self.path("run"), running=True)[-1]["step"]
            worker = self.mpirun(3, "--resume", "--deadline", deadline, steps=1000000)
            self.wait_for_step(before + 20)
            os.kill(self.ranks_of(worker)[rank], what)
            said = worker.communicate(timeout=120)[0].decode()
            self.assertNotEqual(worker.returncode, 0)
            self.assertRegex(said, sentence)
            self.assertRegex(said, "rerun with --resume to continue")
            self.assertGreaterEqual(self.saved_step(), before + 20)
        at = lines(self.path("run"), running=True)[-1]["step"]
        worker = self.mpirun(3, "--resume", steps=at + 15)
        said = worker.communicate(timeout=120)[0].decode()
        self.assertEqual(worker.returncode, 0, said)
        steps = [line["step"] for line in lines(self.path("run")) if line["event"] == "step"]
        self.assertEqual(steps, list(range(5, steps[-1] + 1, 5)), "every line once")

    def start(self, count, *arguments, options=()):
        launcher = subprocess.Popen([MEDGRAD, "launch", "-n", str(count), "--logs", self.path("logs"), *options, "--", *TRAIN,
                                     *arguments, "--out", self.path("run")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: launcher.poll() is None and launcher.kill())
        return launcher

    def wait_for_step(self, step):
        for _ in range(3000):
            try:
                if lines(self.path("run"), running=True)[-1]["step"] >= step:
                    return
            except (FileNotFoundError, IndexError):
                pass
            time.sleep(0.02)
        self.fail("nothing happens")

    @staticmethod
    def workers_of(launcher):
        """By number."""
        with open(f"/proc/{launcher.pid}/task/{launcher.pid}/children", encoding="ascii") as children:
            found = {}
            for child in children.read().split():
                with open(f"/proc/{child}/environ", "rb") as environment:
                    found[int(re.search(rb"\0RANK=(\d+)\0", b"\0" + environment.read())[1])] = int(child)
        return found

    def changes(self):
        return [line["workers"] for line in lines(self.path("run"), running=True) if line["event"] == "workers"]

    def test_a_death_and_one_that_comes_back(self):
        launcher = self.start(4, "--steps", "1000000", "--aggregate", "median", "--deadline", "20")
        self.wait_for_step(20)
        workers = self.workers_of(launcher)
        with open(f"/proc/{workers[0]}/environ", "rb") as file:
            environment = dict(one.split(b"=", 1) for one in file.read().split(b"\0") if b"=" in one)
        os.kill(workers[0], signal.SIGKILL)  # the one that writes
        for _ in range(3000):
            if self.changes():
                break
            time.sleep(0.02)
        self.assertEqual(self.changes(), [[1, 2, 3]])
        again = subprocess.Popen([MEDGRAD, *TRAIN, "--steps", "1000000", "--aggregate", "median", "--deadline", "20", "--out",
                                  self.path("run")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.addCleanup(lambda: again.poll() is None and again.kill())
        for _ in range(3000):
            if len(self.changes()) > 1:
                break
            time.sleep(0.02)
        self.assertEqual(self.changes(), [[1, 2, 3], [0, 1, 2, 3]])
        self.wait_for_step(lines(self.path("run"), running=True)[-1]["step"] + 10)
        launcher.send_signal(signal.SIGINT)
        error = launcher.communicate(timeout=60)[1].decode()
        out, _ = again.communicate(timeout=60)
        self.assertRegex(error, r"Worker 0 was ended by signal 9 \(Killed\); 3 others are left\.\nmedgrad: stopped; ")
        self.assertRegex(out.decode(), r"# +0 .*away in \d+ of \d+ steps\n# +1 .*  fine\n")
        events = lines(self.path("run"))
        steps = [line["step"] for line in events if line["event"] == "step"]
        self.assertEqual(steps, list(range(5, steps[-1] + 1, 5)), "every line once")
        evaluations = [line["training_loss"] for line in events if line["event"] == "evaluation"]
        self.assertLess(evaluations[-1], 0.9 * evaluations[0])

    def by_variables(self, count, *arguments, **variables):
        """Workers by torchrun's variables."""
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), **variables}
        workers = [subprocess.Popen([MEDGRAD, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(count), **meeting))
                   for rank in range(count)]
        for worker in workers:
            self.addCleanup(lambda one=worker: one.poll() is None and one.kill())
        return workers

    def test_the_one_that_writes_stalls_and_comes_back(self):
        launcher = self.start(3, "--steps", "1000000", "--aggregate", "median", "--deadline", "3", "--events", "0:stalled@20")
        self.wait_for_step(20)
        for _ in range(3000):
            if len(self.changes()) > 1:
                break
            time.sleep(0.02)
        self.assertEqual(self.changes(), [[1, 2], [0, 1, 2]])
        self.wait_for_step(lines(self.path("run"), running=True)[-1]["step"] + 10)
        launcher.send_signal(signal.SIGINT)
        launcher.communicate(timeout=60)
        steps = [line["step"] for line in lines(self.path("run")) if line["event"] == "step"]
        self.assertEqual(steps, list(range(5, steps[-1] + 1, 5)), "every line once")

    def test_a_stop_in_an_evaluation_is_told_to_all(self):
        """One of them is asked to stop in the first evaluation, which is long, row by row: both end, with a checkpoint."""
        workers = self.by_variables(2, "train", "logistic", "--batch", "1", "--method", "sgd-m", "--lr", "0.01", "--threads", "1", "--epochs",
                                    "1000", "--aggregate", "median", "--deadline", "20", "--out", self.path("run"))
        while not os.path.exists(self.path("run", "config.json")):
            time.sleep(0.02)
        time.sleep(0.1)
        workers[1].terminate()
        for worker in workers:
            error = worker.communicate(timeout=60)[1].decode()
            self.assertEqual(worker.returncode, 1, error)
            self.assertTrue(error.endswith("medgrad: stopped; rerun with --resume to continue.\n"), error)
        self.assertTrue(os.path.exists(self.path("run", "checkpoint.safetensors")))

    def test_without_a_meeting_point_it_ends_with_a_checkpoint(self):
        """Worker 0 has it under torchrun's variables, and is killed: the next one saves."""
        workers = self.by_variables(3, *TRAIN, "--steps", "1000000", "--aggregate", "median", "--deadline", "5", "--out", self.path("run"))
        self.wait_for_step(20)
        workers[0].kill()
        said = [worker.communicate(timeout=60)[1].decode() for worker in workers]
        self.assertEqual([worker.returncode for worker in workers[1:]], [1, 1], said)
        self.assertRegex(said[1], r"The meeting point of the workers does not answer .* The run is saved at step \d+; rerun with --resume")
        self.assertTrue(os.path.exists(self.path("run", "checkpoint.safetensors")))

    def test_below_the_quorum_it_ends_with_a_checkpoint(self):
        launcher = self.start(3, "--steps", "100000", "--aggregate", "mean", "--quorum", "3", "--deadline", "20")
        self.wait_for_step(20)
        os.kill(self.workers_of(launcher)[1], signal.SIGKILL)
        _, error = launcher.communicate(timeout=120)
        self.assertEqual(launcher.returncode, 1)
        self.assertRegex(error.decode(), r"medgrad: 0 of 3 workers finished; see .* Worker 0 said: Only 2 workers .* rerun with --resume")
        self.assertRegex(self.log(0), r"medgrad: Only 2 workers are left; the run needs 3\. The run is saved at step \d+; rerun with --resume")
        at = lines(self.path("run"), running=True)[-1]["step"]
        done = self.launch(3, "--steps", str(at + 50), "--aggregate", "mean", "--resume", "--out", self.path("run"))
        self.assertEqual(done.returncode, 0, self.log(0))
        steps = [line["step"] for line in lines(self.path("run")) if line["event"] == "step"]
        self.assertEqual(steps, list(range(5, at + 51, 5)))

    def test_ctrl_c_saves(self):
        launcher = self.start(2, "--steps", "100000", "--aggregate", "mean")
        self.wait_for_step(10)
        launcher.send_signal(signal.SIGINT)
        self.assertRegex(launcher.communicate(timeout=60)[1].decode(), "medgrad: stopped; rerun with --resume to continue. What the workers said")
        self.assertTrue(os.path.exists(self.path("run", "checkpoint.safetensors")))
        self.assertIn("stopped; rerun with --resume to continue.", self.log(0))

    def test_mistakes(self):
        self.bad("--aggregate is for several workers; simulate them with --workers N", *TRAIN, "--aggregate", "median")
        self.bad("--workers is for workers that train together; say by which rule with --aggregate", *TRAIN, "--workers", "3")
        self.bad("'medien' is not an aggregator. Did you mean 'median'", *TRAIN, "--aggregate", "medien", "--workers", "3")
        self.bad("--attack is missing; it says what the liar sends, as in alie", *TRAIN, "--aggregate", "mean", "--workers", "3",
                 "--byzantine", "1")
        self.bad("--attack is alie; nobody lies unless --byzantine says how many do", *TRAIN, "--aggregate", "mean",
                 "--workers", "3", "--attack", "alie")
        self.bad("--attack alie:z=1: z is not a parameter of alie, which has strength", *TRAIN, "--aggregate", "mean",
                 "--workers", "3", "--byzantine", "1", "--attack", "alie:z=1")
        self.bad("--byzantine is 3; there are 3 workers, and at least one must be honest", *TRAIN, "--aggregate", "mean",
                 "--workers", "3", "--byzantine", "3", "--attack", "nan")
        self.bad("--deadline is 0; it must be from 0.1", *TRAIN, "--aggregate", "mean", "--workers", "3", "--deadline", "0")
        self.bad("--quorum is 4; it must be at most 3", *TRAIN, "--aggregate", "mean", "--workers", "3", "--quorum", "4")
        self.bad("--corrupted is for one that trains alone", *TRAIN, "--aggregate", "mean", "--workers", "3", "--corrupted", "0.1")
        self.bad("--corrupted is 2; it must be from 0 to 1", *TRAIN, "--corrupted", "2")
        for events, why in (("3:killed@10", "workers are counted from 0, and the last one is 2"), ("killed", "it must be WORKER:WHAT@STEP"),
                            ("1:killed@20-10", "the second is larger"), ("1:kiled@20", "'kiled' is neither killed nor stalled nor"),
                            ("0:silent@1", "it is 'killed'")):
            self.bad(f"--events is {events}; .*{re.escape(why)}", *TRAIN, "--aggregate", "mean", "--workers", "3", "--events", events)
        self.bad("workers that train together need a rule", "launch", "-n", "2", "--", *TRAIN)


if __name__ == "__main__":
    unittest.main()
