# The scripts of this folder source this file. It sets `project`, and `cache` for files that are kept between runs.
# A script that another one starts sets `command_name`, for its messages.
# shellcheck shell=bash disable=SC2034  # the variables are read by the scripts that source this file

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${IAMPASS_CACHE:-/var/cache/iampass}

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "${command_name:-${0##*/}}: $1"
    [[ -z ${2:-} ]] || say "hint: $2"
    exit "${3:-1}"
}

need_root() { [[ $(id -u) -eq 0 ]] || fail "only root can do this" "sudo $0"; }

# Prints the comment at the head of a script, from its second line to the first line without `#`.
print_own_help() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# take_scratch FOLDER KIND: before a build in a folder that several kinds of debug builds share. What another kind made of
# our own modules is removed: for some flags, such as -sanitize, Swift's compiler takes old objects for new ones.
take_scratch() {
    local folder=$1 kind=$2 map
    if [[ -d $folder && $(cat "$folder/made-for" 2>/dev/null) != "$kind" ]]; then
        for map in "$folder"/*/debug/*.build/output-file-map.json; do
            ! grep -q "\"$project/\(Sources\|Tests\)/" "$map" 2>/dev/null || rm -rf "${map%/*}"
        done
    fi
    mkdir -p "$folder"
    printf '%s\n' "$kind" >"$folder/made-for"
}

# A download may fail for once. Three times, ten seconds apart.
try_three_times() {
    local try
    for try in 1 2 3; do
        ! "$@" || return 0
        [[ $try -eq 3 ]] || { say "${command_name:-${0##*/}}: $1 failed, once more in 10 seconds"; sleep 10; }
    done
    return 1
}

# Seconds between two lines of `watched` if nobody looks at a terminal.
progress_pause=10

# watched WHAT LOG COMMAND...: runs it with its standard error in LOG. Meanwhile standard error says what is being done,
# for how long, and LOG's last line: on a terminal in one line that changes, otherwise in lines of their own.
watched() {
    local what=$1 log=$2 began=$SECONDS status=0 shower
    shift 2
    : >"$log"
    # The command stays in the foreground, where Ctrl-C reaches it.
    show_progress "$what" "$log" >/dev/null &
    shower=$!
    "$@" 2>"$log" || status=$?
    kill "$shower" 2>/dev/null || true
    wait "$shower" 2>/dev/null || true
    [[ ! -t 2 ]] || printf '\r\e[K' >&2
    [[ $status -ne 0 ]] || say "$what took $(minutes $((SECONDS - began)))"
    return "$status"
}

minutes() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# Goes with the script that began it.
show_progress() {
    local what=$1 log=$2 began=$SECONDS told=$SECONDS now line
    while kill -0 $$ 2>/dev/null; do
        sleep 0.5
        now=$SECONDS
        line="$what $(minutes $((now - began)))  $(tail -c 2000 "$log" | tr '\r' '\n' | grep . | tail -n 1 | cut -c 1-60 || true)"
        if [[ -t 2 ]]; then
            printf '\r%s\e[K' "$line" >&2
        elif ((now - told >= progress_pause)); then
            say "$line"
            told=$now
        fi
    done
}

# Whatever needs debootstrap (40 seconds) or apt is fetched only once.
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
    # A fresh machine may have no package lists, or old ones. Another apt may hold the lock for a while.
    if ! { try_three_times apt-get update -q -o Acquire::Retries=5 &&
        try_three_times apt-get install -q -y --no-install-recommends -o Acquire::Retries=5 \
            -o DPkg::Lock::Timeout=300 "${missing[@]}"; } </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "apt could not install ${missing[*]}" "apt-get install ${missing[*]}"
    fi
    rm -f "$log"
}

# The machine's own mirror of Debian's; debootstrap's default elsewhere.
find_mirror() {
    # shellcheck disable=SC2016  # apt fills these in
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' 2>/dev/null |
        awk '$1 ~ /^http/ && $1 !~ /security/ && $2 !~ /-/ && $3 == "Debian" { print $1; exit }'
}

# bootstrap LOG SUITE FOLDER PACKAGE...: a bare Debian in a folder that is made.
bootstrap() {
    local log=$1 suite=$2 folder=$3 mirror
    shift 3
    mirror=$(find_mirror)
    if [[ -z $mirror ]]; then
        # Without lists apt does not know whose mirror is whose.
        apt-get update -q -o Acquire::Retries=5 </dev/null >"$log" 2>&1 || true
        mirror=$(find_mirror)
    fi
    once() {
        rm -rf --one-file-system "$folder"
        timeout 900 debootstrap --variant=minbase --include="$(IFS=,; echo "$*")" "$suite" "$folder" ${mirror:+"$mirror"} \
            </dev/null >>"$log" 2>&1
    }
    try_three_times once "$@" || { tail -n 20 "$log" >&2; fail "debootstrap failed" "see $log"; }
}

# build_packages WORK: the programs, whose folder it sets `built` to, and the packages in WORK/debs.
build_packages() {
    local work=$1 log=$1/log
    say "building: a quarter of an hour on two cores, and 1 GB, the first time"
    if ! watched "building the programs" "$log" "$project/packaging/build-product" >"$work/built"; then
        tail -n 40 "$log" >&2
        fail "building the programs failed" "packaging/build-product"
    fi
    built=$(tail -n 1 "$work/built")
    if ! watched "building the packages" "$log" \
        "$project/packaging/build-deb" --built "$built" --uncompressed --out "$work/debs" >"$work/out"; then
        tail -n 40 "$work/out" "$log" >&2
        fail "building the packages failed" "packaging/build-deb"
    fi
}

# Plays acts of Tests/Support/Demo on hosts of each Debian release, 12 and 13 by default, with packages of IAMPASS_DEBS or
# freshly built ones.
play_on_releases() {
    local acts=$1 release work
    shift
    [[ $# -gt 0 ]] || set -- 12 13
    need_root
    "$project/packaging/install-needs" demo
    if [[ -z ${IAMPASS_DEBS:-} ]]; then
        work=$(mktemp -d -t iampass-demo-XXXXXX)
        # shellcheck disable=SC2064  # the name is known now
        trap "rm -rf '$work'" EXIT
        build_packages "$work"
        export IAMPASS_DEBS=$work/debs
    fi
    for release in "$@"; do
        PYTHONPATH=$project/Tests /usr/bin/python3 -B "$project/Tests/Support/Demo/$acts" "$release" </dev/null
    done
}
