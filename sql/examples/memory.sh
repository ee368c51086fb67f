#!/bin/sh
# Remembers and recalls with psql (15 or newer) and nothing else.
#
#   memory.sh remember ACCOUNT [TEXT]   prints the memory's id
#   memory.sh recall ACCOUNT [TURN]     prints the note to put before the turn
#
# ACCOUNT is the application's own id of an account. A text that is left out is read from standard input. The database
# is libpq's: PGSERVICE, or PGHOST, PGDATABASE, PGUSER.
#
# Exit status: 0; 1 refused, with the refusal's name on standard error; 2 no connection; 64 wrong usage; 75 nothing was
# written, try again.
set -eu

usage() {
  sed -n 's/^#   //p' "$0" >&2
  exit 64
}

[ $# -ge 2 ] || usage
case $1 in
  remember) statement="select id from memstore.insert_memory(memstore.create_user(external_ref => :'account'), :'text')" ;;
  recall) statement="select note from memstore.recall(memstore.create_user(external_ref => :'account'), :'text')" ;;
  *) usage ;;
esac

# Texts go through the environment: arguments of a program are open to every user of the machine. psql quotes them
# where it reads :'text', so nothing in them is SQL. Its messages are parsed below, so they must not be translated.
if [ $# -ge 3 ]; then TEXT=$3; else TEXT=$(cat); fi
ACCOUNT=$2 LC_ALL=C PGCLIENTENCODING=UTF8
export ACCOUNT TEXT LC_ALL PGCLIENTENCODING

messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
status=0
psql -X -q -A -t -v ON_ERROR_STOP=1 -v VERBOSITY=verbose 2>"$messages" <<SQL || status=$?
\\getenv account ACCOUNT
\\getenv text TEXT
$statement;
SQL

[ $status -ne 0 ] || exit 0
if [ $status -ne 3 ]; then
  cat "$messages" >&2
  exit "$status"
fi
case $(sed -n 's/^ERROR:  \([0-9A-Z]*\):.*/\1/p' "$messages") in
  40001 | 40P01) exit 75 ;; # a stale snapshot, a deadlock
esac
name=$(sed -n 's/^CONSTRAINT NAME:  //p' "$messages")
echo "${name:-$(cat "$messages")}" >&2
exit 1
