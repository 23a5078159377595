"""Slurm: one controller and one node on this machine, with its own munge, ports and directories."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from measure import wait_until
from ours import free_port
from peers import debian, said

CONFIGURATION = """
ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={home}/munge/socket
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
ReturnToService=2
KillWait=2
SwitchType=switch/none
MpiDefault=none
MaxJobCount=200000
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
NodeName=localhost CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    name = "Slurm"

    def __init__(self, cpus=2):
        debian("munged", "munge")
        debian("slurmctld", "slurm-wlm")
        self.cpus = cpus
        self.home = Path(tempfile.mkdtemp(prefix="slurm-bench."))
        self.daemons = {}
        self.environment = {**os.environ, "SLURM_CONF": str(self.home / "slurm.conf")}

    def version(self):
        return said(["sinfo", "--version"], env=self.environment)

    def __enter__(self):
        self.home.chmod(0o755)
        for part in ("state", "spool", "munge"):
            (self.home / part).mkdir(mode=0o755)
        self.start_munge()
        ports = {"controller_port": free_port(), "node_port": free_port()}
        user = said(["id", "-un"])
        (self.home / "slurm.conf").write_text(CONFIGURATION.format(home=self.home, user=user, cpus=self.cpus, **ports))
        self.start_controller()
        self.start("slurmd", ["slurmd", "-D", "-N", "localhost"])
        wait_until(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%T", check=False), 30, "Slurm's node", every_s=0.05)
        return self

    def start_munge(self):
        key = self.home / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        place = self.home / "munge"
        files = [f"--socket={place}/socket", f"--pid-file={place}/pid", f"--log-file={place}/log", f"--seed-file={place}/seed"]
        self.start("munged", ["munged", "-F", "--force", f"--key-file={key}", *files])
        wait_until((place / "socket").exists, 10, "munge")

    def start_controller(self):
        self.start("slurmctld", ["slurmctld", "-D"])

    def start(self, name, command):
        with open(self.home / f"{name}.log", "ab") as log:
            self.daemons[name] = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)

    def kill_controller(self):
        self.daemons["slurmctld"].kill()
        self.daemons["slurmctld"].wait()

    def ask(self, *command, check=True, **options):
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def run_one(self):
        self.ask("srun", "true")

    def submit_array(self, line, tasks, output):
        """An array is Slurm's documented fast way for many alike tasks."""
        self.ask("sbatch", "-a", f"1-{tasks}", "-o", output, "-n", "1", "--wrap", line)

    def is_idle(self):
        return not self.ask("squeue", "-h", "-o", "%A").strip()

    def processes(self):
        return [daemon.pid for daemon in self.daemons.values()]

    def __exit__(self, *_):
        subprocess.run(["scancel", "--user", str(os.geteuid())], env=self.environment, stderr=subprocess.DEVNULL)
        for name in ("slurmd", "slurmctld", "munged"):
            daemon = self.daemons.get(name)
            if daemon and daemon.poll() is None:
                daemon.terminate()
                try:
                    daemon.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()
        shutil.rmtree(self.home, ignore_errors=True)
