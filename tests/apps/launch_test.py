"""medgrad launch: workers that are started, watched and stopped; the example under it.

Run by CTest as: launch_test.py MEDGRAD EXAMPLE.
"""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

EXAMPLE = os.path.abspath(sys.argv.pop(2))

from command import MEDGRAD, CommandTest, content, run


class LaunchTest(CommandTest):
    def launch(self, *arguments):
        return run("launch", "--logs", self.path("logs"), *arguments)

    def log(self, worker):
        return content(self.path("logs", f"worker-{worker}.log")).decode()

    def test_every_worker_knows_who_it_is(self):
        done = self.launch("-n", 3, "--", "sh", "-c", "echo $RANK of $WORLD_SIZE; test -n \"$MEDGRAD_TOKEN\" ; case $MEDGRAD_STORE in @medgrad-*) ;; *) exit 1 ;; esac")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual([self.log(r) for r in range(3)], [f"{r} of 3\n" for r in range(3)])
        self.assertEqual(sorted(os.listdir(self.path("logs"))), [f"worker-{r}.log" for r in range(3)])

    def test_the_token_is_on_no_command_line(self):
        done = self.launch("-n", 2, "--", "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | "
                           "awk 'index($0, ENVIRON[\"MEDGRAD_TOKEN\"]) { n++ } END { print n + 0 }'")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.log(0), "0\n")

    def test_deaths_are_told_and_the_quorum_counts(self):
        command = ["--", "sh", "-c", "if test $RANK = 1; then kill -9 $$; elif test $RANK = 2; then exit 7; fi"]
        done = self.launch("-n", 3, *command)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"Worker 1 was ended by signal 9 \(Killed\); \d others? (is|are) left\.\n")
        self.assertRegex(done.stderr.decode(), r"Worker 2 ended with exit code 7; ")
        done = self.launch("-n", 3, "--quorum", 2, "--quiet", *command)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"^medgrad: 1 of 3 workers finished; see .*worker-\*\.log\.\n$")

    def test_one_that_died_is_started_again(self):
        done = self.launch("-n", 2, "--restarts", 1, "--", "sh", "-c",
                           f"echo started; if test $RANK = 1 -a ! -f {self.path('died')}; then touch {self.path('died')}; exit 1; fi")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"Worker 1 ended with exit code 1; it is started again.\n", done.stderr)
        self.assertEqual((self.log(0), self.log(1)), ("started\n", "started\nstarted\n"))

    def test_ctrl_c_ends_all(self):
        launcher = subprocess.Popen([MEDGRAD, "launch", "-n", "2", "--logs", self.path("logs"), "--", "sh", "-c",
                                     "trap 'echo saved; exit 0' TERM; echo $$; while true; do sleep 0.05; done"],
                                    stderr=subprocess.PIPE)
        for worker in range(2):
            while not os.path.exists(self.path("logs", f"worker-{worker}.log")) or not self.log(worker).endswith("\n"):
                time.sleep(0.02)
        launcher.send_signal(signal.SIGINT)
        error = launcher.communicate(timeout=60)[1].decode()
        self.assertEqual(launcher.returncode, 1)
        self.assertRegex(error, r"^medgrad: stopped; ")
        for worker in range(2):
            process, said = self.log(worker).split()
            self.assertEqual(said, "saved")
            self.assertFalse(os.path.exists(f"/proc/{process}"))

    def test_a_launcher_that_is_killed_takes_its_workers_along(self):
        launcher = subprocess.Popen([MEDGRAD, "launch", "-n", "1", "--logs", self.path("logs"), "--", "sh", "-c",
                                     "echo $$; exec sleep 300"])
        while not os.path.exists(self.path("logs", "worker-0.log")) or not self.log(0).endswith("\n"):
            time.sleep(0.02)
        launcher.kill()
        launcher.wait()
        process = self.log(0).strip()
        for _ in range(500):
            if not os.path.exists(f"/proc/{process}"):
                break
            time.sleep(0.02)
        self.assertFalse(os.path.exists(f"/proc/{process}"))

    def test_the_example_trains(self):
        for options in ([], ["--host", "127.0.0.1"]):
            done = self.launch("-n", 3, *options, "--", EXAMPLE)
            self.assertEqual(done.returncode, 0, done.stderr)
            errors = {re.search(r"mean squared error (\S+)", self.log(r)).group(1) for r in range(3)}
            self.assertEqual(len(errors), 1)
            self.assertLess(float(errors.pop()), 0.2)
            self.assertRegex(self.log(0), r"\n +2 .* times as far away as others")

    def test_the_token_can_be_chosen(self):
        for variables in ({"MEDGRAD_TOKEN": "between us"}, {"MEDGRAD_TOKEN_FILE": self.file("token", "between us\n")}):
            done = subprocess.run([MEDGRAD, "launch", "--logs", self.path("logs"), "-n", "1", "--", "sh", "-c", "echo $MEDGRAD_TOKEN"],
                                  env=dict(os.environ, **variables), capture_output=True, check=False)
            self.assertEqual((done.returncode, self.log(0)), (0, "between us\n"), done.stderr)

    def test_a_folder_is_for_one_launch_at_a_time(self):
        first = subprocess.Popen([MEDGRAD, "launch", "-n", "1", "--logs", self.path("logs"), "--", "sh", "-c", "echo first; exec sleep 300"])
        self.addCleanup(lambda: first.poll() is None and first.kill())
        while not os.path.exists(self.path("logs", "worker-0.log")) or not self.log(0).endswith("\n"):
            time.sleep(0.02)
        done = self.launch("-n", 1, "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), "has the logs of workers that are at work; choose another folder with --logs")
        self.assertEqual(self.log(0), "first\n")

    def test_what_workers_complain_of_is_repeated(self):
        done = self.launch("-n", 2, "--quiet", "--", "train", "logistic", "--size", "small", "--aggregate", "medien")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), r"^medgrad: 0 of 2 workers finished; see .*\. Worker 0 said: .*Did you mean 'median'")

    def test_mistakes(self):
        for host in ("nonsense.invalid", "203.0.113.7"):
            done = self.launch("-n", 1, "--host", host, "--", "true")
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr.decode(), f"^medgrad: --host is {host}; it must be an address of this machine")
        self.bad(r"-n is missing", "launch", "--", "true")
        self.bad(r"-n is 5000; it must be at most 4096", "launch", "-n", "5000", "--", "true")
        self.bad(r"--world is '1'; it must be a whole number, 2 or more", "launch", "-n", "2", "--world", "1", "--", "true")
        self.bad(r"nothing to start", "launch", "-n", "2")
        self.bad(r"--quorum is 3; it must be at most 2", "launch", "-n", "2", "--quorum", "3", "--", "true")
        for program, why in (("/nowhere/nothing", "No such file or directory"), ("no-such-program", "No such file or directory"),
                             (self.file("text", "no program"), "Permission denied")):
            done = self.launch("-n", 3, "--", program)
            self.assertEqual((done.returncode, done.stderr.decode()), (2, f"medgrad: {program} cannot be started: {why}.\n"))

    def test_one_that_stands_still_is_not_waited_for(self):
        done = self.launch("-n", 2, "--", "sh", "-c", "if test $RANK = 1; then kill -STOP $$; fi")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"^Worker 1 was ended by signal 9 \(Killed\); 0 others are left\.\n$")


if __name__ == "__main__":
    unittest.main()
