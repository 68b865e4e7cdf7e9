#!/bin/bash
# decode.sh DIR FILE...: builds decode in DIR, with the modules of the APIs, and reads the files.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/src/decode"
cp "$here/decode/main.go.txt" "$1/src/decode/main.go"
if [ ! -x "$1/bin/decode" ]; then
	(
		cd "$1/src/decode"
		rm -f go.mod go.sum
		export GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0
		go mod init decode
		go get sigs.k8s.io/jobset@v0.8.2 volcano.sh/apis@v1.12.1
		go build -trimpath -o "$1/bin/decode" .
	) >"$1/.log-decode" 2>&1 || { tail -n 5 "$1/.log-decode" >&2; exit 1; }
fi
dir=$1
shift
"$dir/bin/decode" "$@"
