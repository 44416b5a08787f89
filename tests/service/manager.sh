#!/usr/bin/env bash
# A real user manager of systemd with a journal, for one user who exists only here. Nobody has to be logged in,
# and no systemd has to run: namespaces keep all of it apart from the machine. Root and the package systemd
# are needed.
#
#   manager.sh HOME VENV REPOSITORY
#
# says "ready" when the manager takes commands, and ends with everything in it when its standard input ends.
# HOME becomes the user's home; VENV and REPOSITORY are found in $PLACE, however private their parents are.
set -euo pipefail

NAME=memfs-tester
ID=5417  # not above 61183, where systemd takes a user for a service's
PLACE=/run/memfs-tester

main() {
  case ${STAGE:-outside} in
    outside) enter_control_group "$@" ;;
    inside) live "$@" ;;
  esac
}

# A control group of our own, which the namespace shows as the root of all: the manager may do there as it likes.
enter_control_group() {
  local groups group
  groups=$(mktemp -d)
  mount -t cgroup2 cgroup2 "$groups"  # in the mount namespace that the caller has made
  group=$(mktemp -d "$groups/memfs-tester.XXXXXX")
  chmod 755 "$group"
  (
    echo "$BASHPID" >"$group/cgroup.procs"
    STAGE=inside exec unshare --pid --cgroup --mount --fork --kill-child=KILL --mount-proc "$0" "$@"
  ) <&0 || true
  for _ in {1..50}; do
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    [[ -d $group ]] || break
    sleep 0.1
  done
  umount "$groups"
  rmdir "$groups"
}

live() {
  local home=$1 venv=$2 repository=$3 runtime=/run/user/$ID
  local group=/sys/fs/cgroup/user.slice/user-$ID.slice/user@$ID.service  # journald reads the unit from this path
  mount -t tmpfs -o mode=755 tmpfs /run
  # Without the first, the manager believes that this machine was not booted by systemd, and ends.
  mkdir -p /run/systemd/system /run/systemd/journald.conf.d "$PLACE"/{venv,repository,home} "$runtime"
  add_user "$PLACE/home"
  chown "$ID:$ID" "$runtime" "$home"
  chmod 700 "$runtime" "$home"
  mount --bind "$home" "$PLACE/home"
  mount --bind "$venv" "$PLACE/venv"
  mount --bind "$repository" "$PLACE/repository"
  open_fuse_to_everybody
  umount -R /sys/fs/cgroup 2>/dev/null || true
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  start_journal  # after that, or it takes the machine's groups for those it is to read units from
  mkdir -p "$group" "${group%/*}/session.scope"
  chown "$ID:$ID" "$group" "$group"/cgroup.{procs,threads,subtree_control}
  (
    echo "$BASHPID" >"$group/cgroup.procs"
    exec setpriv --reuid "$ID" --regid "$ID" --clear-groups env -i HOME="$PLACE/home" USER="$NAME" LANG=C.UTF-8 \
      PATH=/usr/local/bin:/usr/bin:/bin XDG_RUNTIME_DIR="$runtime" \
      /lib/systemd/systemd --user --log-target=journal </dev/null >/dev/null 2>&1
  ) &
  wait_for "$runtime/systemd/private"
  echo ready
  cat >/dev/null
}

add_user() {
  sed '$a\'"$NAME:x:$ID:$ID::$1:/bin/sh" /etc/passwd >/run/passwd
  sed '$a\'"$NAME:x:$ID:" /etc/group >/run/group
  mount --bind /run/passwd /etc/passwd
  mount --bind /run/group /etc/group
}

# As systemd has it on a real machine, and here in this namespace only.
open_fuse_to_everybody() {
  mknod -m 666 /run/fuse c 10 229
  mount --bind /run/fuse /dev/fuse
}

# Kept on disk, or a user cannot read it; here that is memory.
start_journal() {
  tr -d - </proc/sys/kernel/random/uuid >/run/machine-id
  [[ -e /etc/machine-id ]] || : >/etc/machine-id
  mount --bind /run/machine-id /etc/machine-id
  mkdir -p /var/log/journal
  mount -t tmpfs tmpfs /var/log/journal
  printf '[Journal]\nStorage=persistent\nReadKMsg=no\nAudit=no\nRateLimitBurst=0\n' \
    >/run/systemd/journald.conf.d/memfs.conf
  /lib/systemd/systemd-journald >/dev/null 2>&1 </dev/null &
  wait_for /run/systemd/journal/stdout
  journalctl --flush
}

wait_for() {
  local _
  for _ in {1..600}; do
    [[ -S $1 ]] && return
    sleep 0.05
  done
  echo "$1 has not come" >&2
  return 1
}

main "$@"
