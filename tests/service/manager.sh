#!/usr/bin/env bash
# A real user manager of systemd with a journal, for one user who exists only here. Nobody has to be logged in,
# and no systemd has to run: namespaces keep all of it apart from the machine.
#
#   unshare --mount --propagation private manager.sh HOME VENV REPOSITORY
#
# says "ready" when the manager takes commands, and ends with everything in it when its standard input ends.
source "$(dirname "${BASH_SOURCE[0]}")/namespaces.sh"

main() {
  local group=/sys/fs/cgroup/user.slice/user-$ID.slice/user@$ID.service  # journald reads the unit from this path
  mount -t tmpfs -o mode=755 tmpfs /run
  # Without the first, the manager believes that this machine was not booted by systemd, and ends.
  mkdir -p /run/systemd/system /run/systemd/journald.conf.d "$RUNTIME"
  chown "$ID:$ID" "$RUNTIME"
  chmod 700 "$RUNTIME"
  furnish "" "$@"
  put_in_place /etc/passwd passwd_with_user
  put_in_place /etc/group group_with_user
  open_fuse_to_everybody
  umount -R /sys/fs/cgroup 2>/dev/null || true
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  start_journal  # after that, or it takes the machine's groups for those it is to read units from
  mkdir -p "$group" "${group%/*}/session.scope"
  chown "$ID:$ID" "$group" "$group"/cgroup.{procs,threads,subtree_control}
  start_manager "$group"
  echo ready
  cat >/dev/null
}

# A file of this namespace with what a command prints.
put_in_place() {
  "$2" >"/run/${1##*/}"
  [[ -e $1 ]] || : >"$1"
  mount --bind "/run/${1##*/}" "$1"
}

# As systemd has it on a real machine, and here in this namespace only.
open_fuse_to_everybody() {
  mknod -m 666 /run/fuse c 10 229
  mount --bind /run/fuse /dev/fuse
}

# Kept on disk, or a user cannot read it; the disk is memory.
start_journal() {
  put_in_place /etc/machine-id new_machine_id
  mkdir -p /var/log/journal
  mount -t tmpfs tmpfs /var/log/journal
  printf '[Journal]\nStorage=persistent\nReadKMsg=no\nAudit=no\nRateLimitBurst=0\n' \
    >/run/systemd/journald.conf.d/memfs.conf
  /lib/systemd/systemd-journald >/dev/null 2>&1 </dev/null &
  wait_for_socket /run/systemd/journal/stdout
  journalctl --flush
}

start_manager() {
  (
    echo "$BASHPID" >"$1/cgroup.procs"
    exec setpriv --reuid "$ID" --regid "$ID" --clear-groups env -i HOME="$PLACE/home" USER="$NAME" LANG=C.UTF-8 \
      PATH=/usr/local/bin:/usr/bin:/bin XDG_RUNTIME_DIR="$RUNTIME" \
      /lib/systemd/systemd --user --log-target=journal </dev/null >/dev/null 2>&1
  ) &
  wait_for_socket "$RUNTIME/systemd/private"
}

if [[ ${STAGE:-} == inside ]]; then main "$@"; else enter_namespaces "$@" || true; fi
