#!/bin/bash
# build.sh DIR: all programs of a one-node Kubernetes, in DIR/bin (from Go modules, of which the mains here are .txt, since they
# belong to none of this module) and DIR/debian (from Debian's packages, unpacked, not installed). A second run makes what is missing.
set -euo pipefail
die() { echo "build.sh: $*" >&2; exit 1; }
[ $# = 1 ] || die "say where: build.sh DIR"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"; DIR=$(cd "$1" && pwd -P)
case $DIR in *[!A-Za-z0-9/._-]*) die "the path $DIR may have letters, digits and / . _ - alone" ;; esac
K8S=${K8S:-1.34.4} DNS=${DNS:-1.13.1}
lib=v0.${K8S#1.}   # the libraries of that release
export GOTOOLCHAIN=local GOFLAGS=-buildvcs=false CGO_ENABLED=0
for p in go python3 openssl apt-get dpkg; do command -v $p > /dev/null || die "needs $p"; done
[ "$(dpkg --print-architecture)" = amd64 ] || die "images are made for amd64 alone, this machine is $(dpkg --print-architecture)"
mkdir -p "$DIR"/{bin,debian,debs,images,src}
exec 9> "$DIR/.build"; flock -w 10 9 || die "another build.sh works in $DIR"

step() { # step NAME KEY COMMAND...: runs it unless KEY is what the last run that succeeded had
	local n=$1 k=$2 t=$SECONDS; shift 2
	[ "$(cat "$DIR/.done-$n" 2> /dev/null)" = "$k" ] && { echo "$n: is there"; return; }
	(set -e; "$@") > "$DIR/.log-$n" 2>&1 & # in the background: set -e means nothing under "if" and "||"
	wait $! || { tail -20 "$DIR/.log-$n" >&2; die "$n failed: see $DIR/.log-$n"; }
	echo "$k" > "$DIR/.done-$n"; echo "$n: $((SECONDS - t)) s"
}
key() { { cat "$@"; echo "$K8S $DNS"; go version; } | sha256sum | cut -d' ' -f1; }

debs() { # containerd, runc and the CNI plugins: the machine's where it has them, else unpacked in DIR/debian
	cd "$DIR/debs"
	timeout 300 apt-get download containerd runc containernetworking-plugins || { timeout 300 apt-get update && timeout 300 apt-get download containerd runc containernetworking-plugins; }
	for d in *.deb; do dpkg -x "$d" "$DIR/debian"; done
	[ -x "$DIR/debian/usr/bin/containerd" ] && [ -x "$DIR/debian/usr/sbin/runc" ] && [ -x "$DIR/debian/usr/lib/cni/bridge" ]
	ldd "$DIR/debian/usr/bin/containerd" "$DIR/debian/usr/sbin/runc" 2>&1 | { ! grep "not found"; }
}
hyper() {
	mkdir -p "$DIR/src/hyper"; cd "$DIR/src/hyper"; cp "$here/hyper/main.go.txt" main.go
	# The module's own go.mod replaces its libraries by folders that the published module lacks: name the published ones instead.
	local mod; mod=$(go mod download -json "k8s.io/kubernetes@v$K8S" | python3 -c 'import json,sys; print(json.load(sys.stdin)["GoMod"])')
	{
		echo "module hyper"; echo; grep -E '^(go|godebug) ' "$mod"
		echo "require k8s.io/kubernetes v$K8S"
		echo "replace ("
		sed -n "s#^[[:space:]]*\(k8s.io/[^ ]*\) => \./staging.*#\t\1 => \1 $lib#p" "$mod"
		echo ")"
	} > go.mod
	local v=k8s.io/component-base/version
	# -mod=mod adds what the build needs; "go mod tidy" would ask for the modules of everybody's tests too
	go build -mod=mod -trimpath -o "$DIR/bin/hyper" -ldflags "-s -w -X $v.gitVersion=v$K8S -X $v.gitMajor=1 -X $v.gitMinor=$(cut -d. -f2 <<< "$K8S")" .
	for n in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do ln -sf hyper "$DIR/bin/$n"; done
}
dns() {
	mkdir -p "$DIR/src/dns"; cd "$DIR/src/dns"; cp "$here/dns/main.go.txt" main.go; rm -f go.mod go.sum
	go mod init dns
	go get "github.com/coredns/coredns@v$DNS" "k8s.io/client-go@$lib" "k8s.io/api@$lib" "k8s.io/apimachinery@$lib" # compiled already
	go build -mod=mod -trimpath -o "$DIR/bin/coredns" -ldflags "-s -w" .
}
pause() {
	mkdir -p "$DIR/src/pause"; cd "$DIR/src/pause"; cp "$here/pause/main.go.txt" main.go; printf 'module pause\n\ngo 1.21\n' > go.mod
	go build -trimpath -o "$DIR/bin/pause" -ldflags "-s -w" .
	"$here/image.py" "$DIR/images/pause.tar" localhost/pause:1 "$DIR/bin/pause=/pause"
}
step debs "debian $(dpkg --print-architecture)" debs
step hyper "$(key "$here/hyper/main.go.txt")" hyper
step coredns "$(key "$here/dns/main.go.txt")" dns
step pause "$(key "$here/pause/main.go.txt" "$here/image.py")" pause
echo "built in $DIR/bin and $DIR/debian: next, up.sh $DIR"
