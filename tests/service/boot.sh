#!/usr/bin/env bash
# Boots systemd, with logind and all, on a throw-away overlay of this machine's root; runs a command there as
# root, and powers off. Namespaces keep all of it apart from the machine.
#
#   unshare --mount --propagation private boot.sh HOME VENV REPOSITORY COMMAND [ARGUMENT...]
#
# prints what the command prints, and returns its status; 99 where the boot failed. The user memfs-tester
# lingers from the beginning.
source "$(dirname "${BASH_SOURCE[0]}")/namespaces.sh"

# What has to do with hardware or with the machine around this one.
MASKED=(
  systemd-udevd.service systemd-udev-trigger.service systemd-udevd-kernel.socket systemd-udevd-control.socket
  systemd-modules-load.service systemd-sysctl.service systemd-timesyncd.service systemd-random-seed.service
  systemd-binfmt.service systemd-remount-fs.service systemd-machine-id-commit.service kmod-static-nodes.service
  systemd-tmpfiles-setup-dev.service systemd-update-utmp.service systemd-pcrphase-sysinit.service
  systemd-pcrphase.service hwclock.service getty.target console-getty.service cryptsetup.target
  integritysetup.target veritysetup.target dev-hugepages.mount dev-mqueue.mount sys-fs-fuse-connections.mount
  sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount proc-sys-fs-binfmt_misc.automount
)

outside() {
  local work status=99
  work=$(mktemp -d)
  mount -t tmpfs tmpfs "$work"
  : >"$work/out"
  printf '%q ' "${@:4}" >"$work/command"
  WORK=$work enter_namespaces "${@:1:3}" >"$work/log" 2>&1 || true
  cat "$work/out"
  if [[ -s $work/status ]]; then status=$(<"$work/status"); else cat "$work/log" >&2; fi
  umount "$work"
  rmdir "$work"
  return "$status"
}

inside() {
  local root=$WORK/overlay/root
  mkdir "$WORK/overlay"
  mount -t tmpfs tmpfs "$WORK/overlay"
  mkdir "$WORK"/overlay/{upper,work,root}
  mount -t overlay -o "lowerdir=/,upperdir=$WORK/overlay/upper,workdir=$WORK/overlay/work" overlay "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  make_devices "$root"
  furnish "$root" "$@"
  make_configuration "$root"
  cd "$root"
  mkdir -p .before
  pivot_root . .before
  umount -l /.before
  exec env -i container=memfs-tester /lib/systemd/systemd --unit=memfs-test.service --log-target=journal \
    --show-status=no </dev/null
}

make_devices() {
  local name major minor
  mount -t tmpfs -o mode=755 tmpfs "$1/dev"
  while read -r name major minor; do
    mknod -m 666 "$1/dev/$name" c "$major" "$minor"
  done <<<$'null 1 3\nzero 1 5\nfull 1 7\nrandom 1 8\nurandom 1 9\ntty 5 0\nfuse 10 229'
  mkdir "$1"/dev/{pts,shm}
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$1/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
  ln -s pts/ptmx "$1/dev/ptmx"
  ln -s /proc/self/fd "$1/dev/fd"
  ln -s fd/0 "$1/dev/stdin"
  ln -s fd/1 "$1/dev/stdout"
  ln -s fd/2 "$1/dev/stderr"
  : >"$1/dev/console"
}

make_configuration() {
  local units=$1/run/systemd/system masked
  passwd_with_user >"$1/run/passwd" && cp "$1/run/passwd" "$1/etc/passwd"
  group_with_user >"$1/run/group" && cp "$1/run/group" "$1/etc/group"
  echo "$NAME:*:20000::::::" >>"$1/etc/shadow"  # or PAM takes the account for expired
  rm -f "$1/etc/machine-id" "$1/etc/fstab"
  new_machine_id >"$1/etc/machine-id"
  : >"$1/etc/fstab"
  rm -rf "$1/var/log/journal" "$1"/etc/systemd/system/*.wants
  mkdir -p "$1/var/log/journal" "$1/var/lib/systemd/linger" "$units"
  : >"$1/var/lib/systemd/linger/$NAME"  # what `loginctl enable-linger` leaves
  for masked in "${MASKED[@]}"; do ln -s /dev/null "$units/$masked"; done
  mkdir -p "$1/run/memfs-work"
  mount --bind "$WORK" "$1/run/memfs-work"
  cat >"$units/memfs-test.service" <<'UNIT'
[Unit]
Wants=dbus.service systemd-logind.service systemd-user-sessions.service multi-user.target
After=dbus.service systemd-logind.service systemd-user-sessions.service
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
TimeoutStartSec=600
ExecStart=/bin/bash -c 'bash /run/memfs-work/command >/run/memfs-work/out 2>&1; echo $$? >/run/memfs-work/status'
UNIT
}

if [[ ${STAGE:-} == inside ]]; then inside "$@"; else outside "$@"; fi
