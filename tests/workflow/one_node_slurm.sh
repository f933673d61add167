#!/usr/bin/env bash
# A real Slurm of one node on the loopback interface, for tests: one_node_slurm.sh up|down FOLDER. As root, after
#   apt-get install --no-install-recommends slurm-wlm munge
# The node has a GPU to ask for, which is an empty file.
set -euo pipefail
action=${1:?up or down}
state=${2:?a folder for its state}
conf=/etc/slurm/slurm.conf
mark="# written by one_node_slurm.sh"

down() {
    # First of all: a configuration without a controller makes every call of Slurm's commands wait.
    if grep -qsF "$mark" "$conf"; then rm -f "$conf" /etc/slurm/gres.conf; fi
    for file in "$state/slurmd.pid" "$state/slurmctld.pid" "$state/munged.pid"; do
        [ -s "$file" ] || continue
        pid=$(cat "$file")
        kill "$pid" 2>/dev/null || true
        for _ in $(seq 1 100); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
    done
}

up() {
    if [ -e "$conf" ] && ! grep -qF "$mark" "$conf"; then
        echo "$conf is there already: this machine has a Slurm of its own" >&2
        exit 1
    fi
    mkdir -p "$state"/{state,spool,log} /etc/slurm /run/munge /var/lib/munge /var/log/munge
    chown munge:munge /run/munge /var/lib/munge /var/log/munge
    chmod 0755 /run/munge
    if [ ! -s /etc/munge/munge.key ]; then
        dd if=/dev/urandom of=/etc/munge/munge.key bs=1024 count=1 status=none
        chown munge:munge /etc/munge/munge.key
        chmod 0400 /etc/munge/munge.key
    fi
    setpriv --reuid=munge --regid=munge --clear-groups /usr/sbin/munged --pid-file=/run/munge/munged.pid
    cp /run/munge/munged.pid "$state/munged.pid"
    touch "$state/gpu0"
    host=$(hostname -s)
    cpus=$(nproc)
    memory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.8)}' /proc/meminfo)
    # AuthInfo: a requeued job may start again after five seconds, not after two minutes.
    cat >"$conf" <<EOF
$mark
ClusterName=toy
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=cred_expire=5
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=2
ReturnToService=2
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd.pid
StateSaveLocation=$state/state
SlurmdSpoolDir=$state/spool
SlurmctldLogFile=$state/log/slurmctld.log
SlurmdLogFile=$state/log/slurmd.log
SlurmctldPort=6817
SlurmdPort=6818
MinJobAge=3600
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$memory Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=600 State=UP
EOF
    echo "NodeName=$host Name=gpu File=$state/gpu0" >/etc/slurm/gres.conf
    /usr/sbin/slurmctld
    /usr/sbin/slurmd
    for _ in $(seq 1 60); do
        case "$(sinfo --noheader --format %T 2>/dev/null | sort -u | head -1)" in idle*) return ;; esac
        sleep 0.5
    done
    echo "the node did not come up: see $state/log" >&2
    exit 1
}

"$action"
