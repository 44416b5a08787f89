# What manager.sh and boot.sh share: namespaces of their own, and in them the user who exists only there.
# Sourced; the caller is already in a mount namespace of its own, and runs as root.
set -euo pipefail

NAME=memfs-tester
ID=5417  # not above 61183, where systemd takes a user for a service's
PLACE=/run/memfs-tester
RUNTIME=/run/user/$ID

# Run this script again as the first process of new namespaces, with STAGE=inside. It has a control group of
# its own, which its namespace shows as the root of all: systemd may do there as it likes.
enter_namespaces() {
  local groups group status=0
  groups=$(mktemp -d)
  mount -t cgroup2 cgroup2 "$groups"
  group=$(mktemp -d "$groups/memfs-tester.XXXXXX")
  chmod 755 "$group"
  (
    echo "$BASHPID" >"$group/cgroup.procs"
    STAGE=inside exec unshare --pid --cgroup --ipc --uts --mount --fork --kill-child=KILL --mount-proc "$0" "$@"
  ) <&0 || status=$?
  for _ in {1..50}; do
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    [[ -d $group ]] || break
    sleep 0.1
  done
  umount "$groups"
  rmdir "$groups"
  return "$status"
}

# Under $1/run, which is a tmpfs: the home $2, the venv $3, the repository $4, however private their parents are.
furnish() {
  mkdir -p "$1$PLACE"/{home,venv,repository}
  chown "$ID:$ID" "$2"
  chmod 700 "$2"
  mount --bind "$2" "$1$PLACE/home"
  mount --bind "$3" "$1$PLACE/venv"
  mount --bind "$4" "$1$PLACE/repository"
}

passwd_with_user() { sed '$a\'"$NAME:x:$ID:$ID::$PLACE/home:/bin/sh" /etc/passwd; }
group_with_user() { sed '$a\'"$NAME:x:$ID:" /etc/group; }
new_machine_id() { tr -d - </proc/sys/kernel/random/uuid; }

wait_for_socket() {
  for _ in {1..1200}; do
    [[ -S $1 ]] && return
    sleep 0.05
  done
  echo "$1 has not come" >&2
  return 1
}
