# Sourced by the scripts of this folder. Sets `project`, and `cache` for what is kept between runs.
# shellcheck shell=bash disable=SC2034  # the variables are read by the scripts that source this file

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${IAMPASS_CACHE:-/var/cache/iampass}

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "${0##*/}: $1"
    [[ -z ${2:-} ]] || say "hint: $2"
    exit "${3:-1}"
}

need_root() { [[ $(id -u) -eq 0 ]] || fail "only root can do this" "sudo $0"; }

# The text of a script's own head, from its second line up to the first line that is no comment.
print_own_help() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# What only a 40-second debootstrap or an apt run can bring is brought once.
install_packages() {
    local missing=() name
    for name in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null) == ii* ]] || missing+=("$name")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    local log
    log=$(mktemp)
    # The lists may be stale or absent on a fresh machine; another run of apt may hold the lock for a while.
    if ! { apt-get update -q && apt-get install -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "${missing[@]}"; } </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "apt could not install ${missing[*]}" "apt-get install ${missing[*]}"
    fi
    rm -f "$log"
}
