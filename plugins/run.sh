#!/bin/bash
# A host and both bundled plugins, each a process of its own, until Ctrl-C or until one of them ends.
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
ready=$run/ready.json
fifo=$run/ready.$$.fifo

host= collector= logger=

# The host goes first: it says goodbye to its plugins, which by then have what it had handed over.
stop() {
    trap '' INT TERM
    for pid in $host $collector $logger; do
        kill -TERM "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -f "$fifo"
    if [[ -n $collector ]]; then rm -f "$ready"; fi
}
trap stop EXIT
trap 'exit 0' INT TERM

# The host writes one line, once everything is bound; a host that can't start closes its output unwritten.
mkfifo "$fifo"
"$bin/holdgate" serve --state-dir "$run/state" "$@" >"$fifo" &
host=$!
if ! read -r line <"$fifo"; then
    status=0
    wait "$host" || status=$?
    host=
    exit "$status"
fi
printf '%s\n' "$line" >"$ready"
address() { jq -r ".endpoints.$1[0]" "$ready"; }

"$bin/file-collector" --plugin "$(address plugin)" --dir "$run/events" &
collector=$!
"$bin/state-logger" --stream "$(address stream)" --control "$(address control)" --file "$run/states.ndjson" &
logger=$!

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
wait -n -p ended "$host" "$collector" "$logger" || status=$?
case $ended in
"$host") name="the host" ;;
"$collector") name=file-collector ;;
*) name=state-logger ;;
esac
echo "$name has ended with status $status: stopping the rest" >&2
exit "$status"
