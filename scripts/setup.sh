# Makes this machine ready for memfs: system packages, .venv, FUSE. Sourced by ./scripts/mount and
# ./scripts/test, which call `set_up runtime` or `set_up dev`; it does nothing when all is in place.
# It may run where there is no Python, no terminal and no HOME, so it is plain bash.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=$ROOT/.venv
STAMP=$VENV/memfs-stamp

# What the tests call besides memfs itself, one "command:package" a line.
TEST_PACKAGES=(
  dbus-run-session:dbus-daemon
  dos2unix:dos2unix
  dte:dte
  ed:ed
  emacs:emacs-nox
  fish:fish
  gawk:gawk
  geany:geany
  gedit:gedit
  git:git
  gnome-text-editor:gnome-text-editor
  ip:iproute2
  jed:jed
  joe:joe
  jove:jove
  kak:kakoune
  kate:kate
  man:man-db
  mcedit:mc
  mg:mg
  micro:micro
  mousepad:mousepad
  nano:nano
  ne:ne
  node:nodejs
  npm:npm
  nvi:nvi
  nvim:neovim
  patch:patch
  perl:perl
  rg:ripgrep
  rsync:rsync
  strace:strace
  systemctl:systemd
  tar:tar
  tilde:tilde
  tmux:tmux
  unzip:unzip
  vim.tiny:vim-tiny
  vim:vim
  xdotool:xdotool
  Xvfb:xvfb
  zile:zile
  zip:zip
  zsh:zsh
)

set_up() {
  local wanted=$1
  # First what no package can mend, so that nobody waits a minute to hear it.
  require_linux
  require_fuse_device
  require_mount_right
  # One at a time per clone. The lock is on the directory: no file to leave behind, and nothing
  # started later inherits it (a daemon that did would hold it for as long as it lives).
  is_prepared "$wanted" || prepare "$wanted" 9<"$ROOT"
  require_setuid_fusermount
  ensure_mtab
}

is_prepared() {
  venv_is_current "$1" && list_missing "$1" && ((${#MISSING[@]} == 0))
}

prepare() {
  flock -n 9 || { say "another run is setting up $ROOT; waiting for it."; flock 9; }
  list_missing "$1"
  if ((${#MISSING[@]} > 0)); then
    install_packages
    list_missing "$1"
    ((${#MISSING[@]} == 0)) ||
      fail "still missing after the installation: $(join "${MISSING[@]}"). Install what provides it, then run this again."
  fi
  venv_is_current "$1" || build_venv "$1"
}

# --- what the machine must allow -----------------------------------------------------------------

require_linux() {
  [[ $(uname -s) == Linux ]] || fail "memfs mounts with Linux's FUSE and this is $(uname -s). Use a Linux machine, or a virtual one."
}

require_fuse_device() {
  local error
  [[ -c /dev/fuse ]] || fail "there is no /dev/fuse. Try 'sudo modprobe fuse'; in a container, start it with 'docker run --device /dev/fuse --cap-add SYS_ADMIN'."
  # Opened, not only looked at: a container may show the device and still forbid it.
  if ! error=$( (: <>/dev/fuse) 2>&1); then
    case $error in
      *"No such device"*) fail "the kernel has no FUSE loaded. Try 'sudo modprobe fuse'." ;;
      *"Operation not permitted"*) fail "this container may not use /dev/fuse. Start it with 'docker run --device /dev/fuse --cap-add SYS_ADMIN'." ;;
      *) fail "$(id -un) cannot read and write /dev/fuse. Run 'sudo chmod 666 /dev/fuse' (what systemd sets by default), or run this as root." ;;
    esac
  fi
}

require_mount_right() {
  local key value allowed=1 no_new_privileges=0
  while read -r key value; do
    case $key in
      # An ordinary user mounts through setuid fusermount3, which gets no more than the bounding set.
      CapBnd:) allowed=$((0x$value >> 21 & 1)) ;;  # 21: CAP_SYS_ADMIN
      NoNewPrivs:) no_new_privileges=$value ;;
    esac
  done </proc/self/status
  ((allowed)) || fail "this container may not mount. Start it with 'docker run --device /dev/fuse --cap-add SYS_ADMIN' (where AppArmor is on, also '--security-opt apparmor=unconfined')."
  ((EUID == 0 || !no_new_privileges)) || fail "this shell runs under no_new_privs, where fusermount3 cannot mount. Run this outside the sandbox."
}

require_setuid_fusermount() {
  local path
  ((EUID == 0)) && return
  path=$(command -v fusermount3)
  [[ -u $path ]] || fail "$path is not setuid, so only root can mount. Run 'sudo chmod u+s $path', or reinstall the package fuse3."
}

# fusermount3 -u reads /etc/mtab; a machine made by debootstrap has none.
ensure_mtab() {
  [[ ! -e /etc/mtab ]] || return 0
  local command=(ln -sf /proc/self/mounts /etc/mtab)
  may_install || fail "/etc/mtab is missing, without which nothing can be unmounted. Run: $(spell_as_root "${command[@]}")"
  say "/etc/mtab is missing, without which nothing can be unmounted; linking it to /proc/self/mounts."
  run_as_root "${command[@]}" || fail "could not make /etc/mtab. Run: $(spell_as_root "${command[@]}")"
}

# --- system packages -----------------------------------------------------------------------------

# Looks for what packages provide, not for packages: what is here by another way is as good.
# Fills MISSING (for people) and PACKAGES (Debian's names), and PYTHON when the venv needs building.
list_missing() {
  local entry
  MISSING=() PACKAGES=()
  has fusermount3 || need fusermount3 fuse3
  if [[ $1 == dev ]]; then
    for entry in "${TEST_PACKAGES[@]}"; do
      has "${entry%%:*}" || need "${entry%%:*}" "${entry#*:}"
    done
    has_session_module || need pam_systemd.so libpam-systemd  # for the test that boots
    has_postgres_server || need "PostgreSQL's initdb" postgresql
  fi
  # The rest is for compiling pyfuse3, which comes as source only.
  if ! venv_imports_pyfuse3; then
    list_missing_python
    can_compile || need "a C compiler" gcc libc6-dev
    has pkg-config || need pkg-config pkg-config
    pkg-config --exists fuse3 2>/dev/null || need fuse3.pc libfuse3-dev
  fi
}

list_missing_python() {
  if find_python; then
    has_python_header && return
    case $PYTHON in
      /usr/bin/python3.*) need "Python.h for $PYTHON" "${PYTHON##*/}-dev" ;;
      *) need "Python.h for $PYTHON" python3-dev ;;
    esac
  elif [[ -x /usr/bin/python3 ]] && ! /usr/bin/python3 -I -c "$IS_NEW_ENOUGH"; then
    fail "memfs needs Python 3.11 or newer and this machine has $(/usr/bin/python3 -V). Install a newer one (Debian, Ubuntu: python3.11-venv and python3.11-dev), then run this again."
  else
    need "Python 3.11 or newer with venv" python3-venv
    need Python.h python3-dev
  fi
}

IS_NEW_ENOUGH='import sys; sys.exit(sys.version_info < (3, 11))'

# Names the interpreter itself: PATH may lead to a shim, or to the very .venv about to be replaced.
# One below a directory that is root's alone (root's home, say) will not do: the daemon and the tests must run
# as other users too.
NAME_USABLE_PYTHON='
import os, sys, venv, ensurepip
from pathlib import Path
base = Path(sys.base_prefix)
private = os.geteuid() == 0 and not all(above.stat().st_mode & 0o001 for above in (base, *base.parents))
sys.exit(1) if private or sys.version_info < (3, 11) else print(sys._base_executable)
'

# The system's own first: it is the one that python3-dev and python3-venv belong to.
find_python() {
  local names=(python3 python3.13 python3.12 python3.11) candidate
  while read -r candidate; do
    [[ -x $candidate ]] || continue
    PYTHON=$("$candidate" -I -c "$NAME_USABLE_PYTHON" 2>/dev/null) && return
  done < <(printf '/usr/bin/%s\n' "${names[@]}"; type -aP "${names[@]}")
  return 1
}

has_session_module() {
  compgen -G '/lib/*/security/pam_systemd.so' >/dev/null || compgen -G '/usr/lib*/security/pam_systemd.so' >/dev/null
}

# Debian keeps a server's programs out of PATH. Its package also starts a server, for this machine alone: the
# tests leave it be, they start their own. Set create_main_cluster in /etc/postgresql-common to have none.
has_postgres_server() {
  has initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

has_python_header() {
  "$PYTHON" -I -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_config_var("INCLUDEPY"), "Python.h")))'
}

# gcc without libc's headers is a usual state of a small machine.
can_compile() {
  has cc && echo '#include <stdlib.h>' | cc -E -x c - >/dev/null 2>&1
}

install_packages() {
  local missing
  missing=$(join "${MISSING[@]}")
  has apt-get || fail_without_apt "$missing"
  local install=(apt-get install -y --no-install-recommends "${PACKAGES[@]}")
  local spelled
  spelled="$(spell_as_root apt-get update) && $(spell_as_root "${install[@]}")"
  may_install || fail "missing: $missing. Run: $spelled"
  ((EUID == 0)) || has sudo || fail "missing: $missing, and there is no sudo here. As root, run: ${spelled//sudo /}"
  say "missing: $missing; installing ${PACKAGES[*]} with apt-get (up to a minute)."
  # Asked for in the open, since what follows is hidden.
  run_as_root true || fail "this needs administrator rights. Run, or have someone run: $spelled"
  start_log
  # Lists that are absent or too old show as a failed installation, and are cheap to renew then.
  # An update that fails counts for nothing by itself: it may be about a repository of no concern.
  run_apt "${install[@]}" || { run_apt apt-get update || true; run_apt "${install[@]}"; } ||
    fail_with_log "apt-get could not install ${PACKAGES[*]}. If the reason above is not plain, run: $spelled"
  rm -f "$LOG"
}

# Waits for another apt (a new machine updates itself) and keeps our lock from daemons it starts.
run_apt() {
  run_as_root env DEBIAN_FRONTEND=noninteractive "$1" -o DPkg::Lock::Timeout=300 "${@:2}" >>"$LOG" 2>&1 </dev/null 9<&-
}

fail_without_apt() {
  local manager package names=()
  for manager in dnf pacman zypper; do
    has "$manager" || continue
    for package in "${PACKAGES[@]}"; do names+=("$(translate_package "$manager" "$package")"); done
    case $manager in
      pacman) fail "missing: $1. Run: $(spell_as_root pacman -S --needed "${names[@]}")" ;;
      *) fail "missing: $1. Run: $(spell_as_root "$manager" install "${names[@]}")" ;;
    esac
  done
  fail "missing: $1. Install what your system calls ${PACKAGES[*]} (Debian's names), then run this again."
}

# From the distributions' package lists; not tried.
translate_package() {
  case $1:$2 in
    pacman:python3-venv | pacman:python3-dev) echo python ;;
    pacman:libc6-dev) echo glibc ;;
    pacman:pkg-config) echo pkgconf ;;
    pacman:libfuse3-dev) echo fuse3 ;;
    dnf:python3-venv | zypper:python3-venv) echo python3 ;;
    dnf:python3-dev | zypper:python3-dev) echo python3-devel ;;
    dnf:libc6-dev | zypper:libc6-dev) echo glibc-devel ;;
    dnf:pkg-config) echo pkgconf-pkg-config ;;
    dnf:libfuse3-dev | zypper:libfuse3-dev) echo fuse3-devel ;;
    *) echo "$2" ;;
  esac
}

# --- the venv ------------------------------------------------------------------------------------

# The stamp's first line says what the venv is bound to, its second what was last installed in it.
# The path counts because installed scripts carry it: a copied clone needs a venv of its own.
describe_venv() {
  "$VENV/bin/python" -I -S -c 'import sys; print("python", *sys.version_info[:3], "in", sys.argv[1])' "$VENV" 2>/dev/null
}

describe_installation() {
  local hash
  hash=$(sha256sum <"$ROOT/pyproject.toml")
  echo "$1 ${hash%% *}"
}

venv_is_whole() {
  local base
  [[ -r $STAMP ]] && read -r base <"$STAMP" && [[ $base == "$(describe_venv)" ]]
}

# One with the dev extra serves both commands.
venv_is_current() {
  local installed
  venv_is_whole || return
  installed=$(sed -n 2p "$STAMP")
  [[ $installed == "$(describe_installation dev)" || $installed == "$(describe_installation "$1")" ]]
}

# A current stamp was written after the import worked; asking again would cost every run 0.2 s.
venv_imports_pyfuse3() {
  venv_is_current runtime || { venv_is_whole && "$VENV/bin/python" -c 'import pyfuse3' 2>/dev/null; }
}

build_venv() {
  local target=$ROOT base
  [[ $1 == runtime ]] || target="$ROOT[$1]"
  [[ -w $ROOT && (! -e $VENV || -w $VENV) ]] ||
    fail "$(id -un) cannot write in $VENV. Remove it as its owner, or work in a clone of your own."
  start_log
  if ! venv_is_whole; then
    say "making .venv with $PYTHON."
    rm -rf "$VENV"
    "$PYTHON" -m venv "$VENV" >>"$LOG" 2>&1 ||
      fail_with_log "could not make $VENV. If the reason above is not plain, run: $PYTHON -m venv $VENV"
  fi
  base=$(describe_venv)
  echo "$base" >"$STAMP"  # whole, but until pip is done not current
  say "installing memfs and what it needs into .venv with pip (up to a minute)."
  PIP_USER=0 "$VENV/bin/python" -m pip install --no-input --disable-pip-version-check -e "$target" >>"$LOG" 2>&1 </dev/null ||
    fail_with_log "pip could not install memfs. Check that this machine reaches its Python package index, then run this again."
  "$VENV/bin/python" -c 'import pyfuse3' >>"$LOG" 2>&1 ||
    fail_with_log "pyfuse3 is installed but does not load. Remove $VENV and run this again."
  printf '%s\n' "$base" "$(describe_installation "$1")" >"$STAMP"
  rm -f "$LOG"
}

# --- words and small tools -----------------------------------------------------------------------

say() { printf 'memfs: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }
has() { command -v "$1" >/dev/null; }
need() { MISSING+=("$1"); PACKAGES+=("${@:2}"); }
join() { local rest; printf -v rest ', %s' "${@:2}"; echo "$1${2+$rest}"; }

may_install() { [[ ${MEMFS_NO_INSTALL:-} != 1 ]]; }
run_as_root() { if ((EUID == 0)); then "$@"; else sudo "$@"; fi; }
spell_as_root() { if ((EUID == 0)); then echo "$*"; else echo "sudo $*"; fi; }

start_log() { LOG=$(mktemp "${TMPDIR:-/tmp}/memfs-setup.XXXXXX"); }
fail_with_log() {
  tail -n 25 "$LOG" >&2
  fail "$1 (The whole log: $LOG)"
}
