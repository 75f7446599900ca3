#!/bin/bash
# A host that starts the bundled plugins, each a process of its own, until Ctrl-C or until the host ends.
#
# State and events lie under $HOLDGATE_RUN_DIR (.build/run). Addresses and settings can be given as HOLDGATE_…
# variables, as for `holdgate serve`; arguments go to `holdgate serve`.
set -euo pipefail
cd "$(dirname "$0")/.."

# The host takes every HOLDGATE_ variable for one of its keys.
export -n HOLDGATE_RUN_DIR 2>/dev/null || true

bin=$PWD/.build/release
run=${HOLDGATE_RUN_DIR:-.build/run}
mkdir -p "$run/events"
# Plugins start in their own folders.
events=$(realpath "$run/events")
states=$(realpath "$run")/states.ndjson
ready=$run/ready.json
fifo=$run/ready.$$.fifo

host=

# The host stops its plugins.
stop() {
    trap '' INT TERM
    if [[ -n $host ]]; then
        kill -TERM "$host" 2>/dev/null || true
        wait "$host" 2>/dev/null || true
        rm -f "$ready"
    fi
    rm -f "$fifo"
}
trap stop EXIT
trap 'exit 0' INT TERM

# The two that everybody starts with. Others are linked in by hand: the host takes them in on SIGHUP.
mkdir -p "$run/plugins"
for name in file-collector state-logger; do
    ln -sfn "$PWD/plugins/$name" "$run/plugins/$name"
done

# The host writes one line, once everything is bound; a host that can't start closes its output unwritten.
mkfifo "$fifo"
FILE_COLLECTOR_DIR=$events STATE_LOGGER_FILE=$states \
    GEOFENCE_DIR=${events%/events}/geofence ENGAGEMENT_STORE=${events%/events}/engagement.sqlite \
    "$bin/holdgate" serve --state-dir "$run/state" --plugins "$run/plugins" "$@" >"$fifo" &
host=$!
if ! read -r line <"$fifo"; then
    status=0
    wait "$host" || status=$?
    host=
    exit "$status"
fi
printf '%s\n' "$line" >"$ready"
cat <<TEXT
Holdgate is running, and $(jq -r .state "$ready"): $run/events receives what it lets out.
Now type in another terminal, here in $PWD:

    export PATH="\$PWD/.build/release:\$PATH"
    holdgate state
    holdgate emit demo.clicked '{"button": 1}'
    holdgate start
    cat $run/events/*.ndjson

Ctrl-C stops it; the state stays, and the next \`make run\` goes on with it. README.md goes on from here.
TEXT

status=0
wait "$host" || status=$?
echo "the host ended with status $status" >&2
exit "$status"
