#!/usr/bin/env bash
# A real Slurm on the loopback for a test: munged, slurmctld and one slurmd a node, all with their files in one folder.
#   tests/slurm/loopback.sh start DIR     prints the SLURM_CONF to use
#   tests/slurm/loopback.sh stop DIR      ends them, whatever state they are in
# Root only. Each node has a host name of its own (a UTS namespace), so that runs come from different hosts.
set -euo pipefail
action=$1
folder=$(readlink -f -- "$2")
nodes=(nano1 nano2)

fail() {
  echo "loopback.sh: $*" >&2
  exit 1
}

# Ends the process whose number the file holds, if it is the program that it should be.
stop_by_file() {
  local file=$1 program=$2 pid
  [[ -s $file ]] || return 0
  pid=$(<"$file")
  [[ $pid =~ ^[0-9]+$ && $(cat "/proc/$pid/comm" 2>/dev/null) == "$program" ]] || return 0
  kill "$pid" 2>/dev/null || return 0
  for _ in {1..100}; do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null || true
}

stop() {
  local node
  if [[ -e $folder/slurm.conf ]]; then
    SLURM_CONF=$folder/slurm.conf timeout 20 scancel --partition=main >/dev/null 2>&1 || true
  fi
  for node in "${nodes[@]}"; do stop_by_file "$folder/slurmd.$node.pid" slurmd; done
  stop_by_file "$folder/slurmctld.pid" slurmctld
  stop_by_file "$folder/munged.pid" munged
}

# All at once, because one that is free again may be given out again.
free_ports() { # COUNT
  python3 - "$1" <<'PYTHON'
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for one in sockets:
    one.bind(("127.0.0.1", 0))
    print(one.getsockname()[1])
PYTHON
}

# A job that lost its node waits for cred_expire before it starts again, usually two minutes.
write_configuration() {
  local here node ports
  here=$(hostname -s)
  mapfile -t ports < <(free_ports $((${#nodes[@]} + 1)))
  cat >"$folder/slurm.conf" <<CONF
ClusterName=loop
SlurmctldHost=$here(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=${ports[0]}
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket,cred_expire=10
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
MailProg=/bin/true
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
KillWait=5
MinJobAge=120
SlurmdTimeout=30
CONF
  for ((node = 0; node < ${#nodes[@]}; ++node)); do
    echo "NodeName=${nodes[node]} NodeHostname=$here NodeAddr=127.0.0.1 Port=${ports[node + 1]} CPUs=2 State=UNKNOWN" \
      >>"$folder/slurm.conf"
  done
  echo "PartitionName=main Nodes=$(IFS=,; echo "${nodes[*]}") Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO" >>"$folder/slurm.conf"
}

start() {
  local node
  chmod 755 "$folder"
  mkdir -p "$folder/state"
  ( umask 077; head -c 1024 /dev/urandom >"$folder/munge.key" )
  munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munged.seed" >/dev/null 2>&1 || fail "munged: $(tail -n 3 "$folder/munged.log")"
  write_configuration
  export SLURM_CONF=$folder/slurm.conf
  slurmctld >/dev/null 2>&1 || fail "slurmctld: $(tail -n 3 "$folder/slurmctld.log")"
  for node in "${nodes[@]}"; do
    # shellcheck disable=SC2016 # the inner shell expands them
    unshare --uts sh -c 'hostname "$1" && exec slurmd -N "$1"' sh "$node" >/dev/null 2>&1 || fail "slurmd $node: $(tail -n 3 "$folder/slurmd.$node.log")"
  done
  for _ in {1..300}; do
    if [[ $(sinfo --noheader --format=%T 2>/dev/null) == idle && $(sinfo --noheader --format=%D) == "${#nodes[@]}" ]]; then
      echo "$SLURM_CONF"
      return 0
    fi
    sleep 0.2
  done
  fail "the nodes did not come up: $(sinfo 2>&1; tail -n 3 "$folder"/slurmd.*.log 2>&1)"
}

case $action in
  start)
    trap 'code=$?; if ((code != 0)); then stop; fi' EXIT
    start
    ;;
  stop) stop ;;
  *) fail "expected start or stop, got $action" ;;
esac
