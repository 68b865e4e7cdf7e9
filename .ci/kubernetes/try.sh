# try.sh: what the scripts kubernetes* of .ci/outside.d share; they source it. A Kubernetes of NODES nodes is started here, from Go
# modules and Debian's containerd, runc and CNI plugins, which are unpacked and not installed. KUBERNETES_DIR keeps the programs
# between runs: the first run compiles for minutes, and what is compiled stays. A cluster that is up there is used, and KEEP=1 leaves
# it up. The example's image, its Secret and its volumes are there then, and functions to try jobs with.
[ "$(id -u)" = 0 ] || { echo "skipped: a node needs root"; exit 77; }
dir=${KUBERNETES_DIR:-/opt/gofleet-kubernetes}
here=$PWD/.ci/kubernetes deploy=$PWD/examples/wide_and_deep/deploy
export NODES=${NODES:-1}
if [ -x "$dir/bin/hyper" ]; then
	echo "Kubernetes was built in $dir"
elif timeout 540 "$here/build.sh" "$dir" >/dev/null 2>"$dir.log"; then
	echo "built Kubernetes, etcd and CoreDNS in $dir; unpacked containerd, runc and containernetworking-plugins"
else
	tail -n 3 "$dir.log" || true
	echo "skipped: Kubernetes could not be built in nine minutes; what was compiled is kept: run it again"
	exit 77
fi

work=$(mktemp -d /tmp/gofleet-XXXXXX)
stop() {
	status=$?
	[ $status -eq 0 ] || { kubectl get pods -o wide; kubectl logs --prefix --tail=5 -l job=wd; } 2>/dev/null || true
	[ -n "${KEEP:-}" ] || "$here/down.sh" "$dir" >/dev/null 2>&1 || true
	rm -rf "$work"
	exit $status
}
trap stop EXIT
CGO_ENABLED=0 go build -trimpath -ldflags=-s -o "$work/wide_and_deep" ./examples/wide_and_deep
"$here/image.py" "$work/image.tar" localhost/wide_and_deep:1 "$work/wide_and_deep=/wide_and_deep"
"$here/up.sh" "$dir" "$work/image.tar" >"$work/up" 2>&1 || { tail -n 3 "$work/up"; echo "skipped: no node can be started here"; exit 77; }
. "$dir/env"
[ "$(kubectl get nodes -o name | wc -l)" = "$NODES" ] || { echo "a cluster of other nodes is up: .ci/kubernetes/down.sh $dir first"; exit 1; }
CGO_ENABLED=0 go build -o "$work/fleetrun" ./fleet/fleetrun
# certified NAME... has the Secret wd-tls for servers of these names.
certified() {
	rm -rf "$work/tls"
	"$work/fleetrun" certs "$work/tls" "$@" >/dev/null
	kubectl delete --ignore-not-found secret/wd-tls >/dev/null
	kubectl create secret generic wd-tls --from-file=ca.crt="$work/tls/ca.pem" --from-file=tls.crt="$work/tls/cert.pem" \
		--from-file=tls.key="$work/tls/key.pem" >/dev/null
}
certified wd-ps-0.wd wd-ps-1.wd
kubectl delete --ignore-not-found job/wd-worker job/wd-ps statefulset/wd-ps pdb/wd-ps pvc/wd pvc/journal-wd-ps-0 pvc/journal-wd-ps-1 \
	pv/wd-data pv/wd-journal-0 pv/wd-journal-1 >/dev/null # of a run before, in a cluster that is kept

# volume NAME MODE CLAIM is one of this machine's disk, since nothing here makes volumes.
volume() {
	mkdir -p "$work/$1"
	chmod 777 "$work/$1"
	kubectl apply -f - >/dev/null <<-Y
	{apiVersion: v1, kind: PersistentVolume, metadata: {name: wd-$1}, spec: {capacity: {storage: 1Gi}, accessModes: [$2],
	  hostPath: {path: $work/$1}, claimRef: {namespace: default, name: $3}}}
	Y
}
chmod 755 "$work"
# common has what the forms of the job share.
common() {
	kubectl delete --ignore-not-found pv/wd-data >/dev/null
	volume data ReadWriteMany wd
	kubectl apply -f "$deploy/common.yaml" >/dev/null
}
volume journal-0 ReadWriteOnce journal-wd-ps-0
volume journal-1 ReadWriteOnce journal-wd-ps-1

# run FILE FLAGS [SED]: the job of a file with other flags, and changed by sed.
run() { sed -e "s|args: \[[^]]*\]|args: [\"${2// /\", \"}\"]|" -e "${3:-}" "$deploy/$1" | kubectl apply -f - >/dev/null; }
complete() { for j; do kubectl wait --for=condition=Complete --timeout=240s "job/$j" >/dev/null || return 1; done; }
gone() { kubectl delete --cascade=foreground --timeout=120s --ignore-not-found "$@" >/dev/null; } # with all pods: their names are free then
said() { kubectl logs --prefix --tail=-1 -l "$1" 2>/dev/null; }
# last WORDS is how the last of the workers' lines with these words ends.
last() { said job=wd,role=worker | grep -o "$1.*" | tail -n 1; }
# until_ SECONDS COMMAND waits until a command succeeds.
until_() { local end=$((SECONDS + $1)); shift; until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || { echo "in vain: $*"; return 1; }; sleep 0.5; done; }
logged() { kubectl logs "$1" | grep -q "$2"; }
saved() { ls "$work/data/$1"/ckpt-*/manifest.json; }
pod() { kubectl get pods -l "job=wd,role=$1" --field-selector=status.phase=Running -o name | grep -- "-$2" | head -n 1; }
# ready ROLE says whether both pods of a role are ready, and neither is about to end.
ready() {
	[ "$(kubectl get pods -l "job=wd,role=$1" -o go-template='{{range .items}}{{if not .metadata.deletionTimestamp}}{{range .status.conditions}}{{
		if and (eq .type "Ready") (eq .status "True")}}x{{end}}{{end}}{{end}}{{end}}')" = xx ]
}
# newer DIR SINCE says whether a checkpoint was saved since then.
newer() { [ -n "$(find "$work/data/$1" -name manifest.json -newer "$2" 2>/dev/null)" ]; }
# hurt DIR COMMAND: in a job that saves to DIR, how long it takes from a command until all are ready, and how long no worker trains;
# and what was trained since is in a checkpoint.
hurt() {
	local to=$1 began since again
	shift
	until_ 90 ready ps
	until_ 90 ready worker
	until_ 90 saved "$to"
	began=$SECONDS since=$(date -u +%FT%T.%NZ)
	"$@" >/dev/null
	sleep 4
	until_ 180 ready ps
	until_ 180 ready worker
	touch "$work/now"
	began=$((SECONDS - began)) again=$(date -u +%FT%T.%NZ)
	until_ 60 newer "$to" "$work/now"
	until_ 60 trains "$again"
	echo "  all are ready again after $began s; workers stood still for $(still "$since") s"
}
trains() { kubectl logs --timestamps --tail=-1 --since-time="$1" -l job=wd,role=worker | grep ' epoch '; }
# still SINCE is the longest time between two lines of workers that train, since then.
still() {
	{ echo "$1"; trains "$1" | cut -d' ' -f1; } |
		date -f - +%s.%N | sort -n | awk 'NR > 1 && $1 - last > most { most = $1 - last } { last = $1 } END { printf "%.0f", most }'
}
# suspended JOB...: a queue takes the place of a job, and gives it back behind a while.
suspended() {
	for j; do kubectl patch "job/$j" -p '{"spec": {"suspend": true}}'; done
	until_ 120 bash -c "[ -z \"\$(kubectl get pods -l job=wd,role=worker --field-selector=status.phase!=Failed -o name)\" ]"
	sleep "${PAUSE:-0}"
	for j; do kubectl patch "job/$j" -p '{"spec": {"suspend": false}}'; done
}
# evict POD ends a pod as a drain or a preemption does.
evict() {
	kubectl create --raw "/api/v1/namespaces/default/pods/${1#pod/}/eviction" -f - <<<"{\"apiVersion\": \"policy/v1\", \"kind\": \"Eviction\",
		\"metadata\": {\"name\": \"${1#pod/}\"}}"
}
# group POD is the control group of a pod's container.
group() {
	find /sys/fs/cgroup/memory /sys/fs/cgroup/fleet-k8s -type d -path "*pod$(kubectl get "$1" -o jsonpath='{.metadata.uid}')/$(
		kubectl get "$1" -o jsonpath='{.status.containerStatuses[0].containerID}' | sed 's|.*//||')" 2>/dev/null | head -n 1
}
killed() { kill -KILL $(cat "$(group "$1")/cgroup.procs"); }
# full POD has a pod's container reach its limit of memory, by a process that joins it: the kernel ends the container's own, as kubelet
# has asked it to.
full() {
	(bash -c 'echo $$ >"$0/cgroup.procs"; exec timeout 60 python3 -c "
import os, sys
kept = []
while os.path.exists(\"/proc/\" + sys.argv[1]): kept.append(b\"x\" * (16 << 20))" "$1"' "$(group "$1")" "$(head -n 1 "$(group "$1")/cgroup.procs")" || true) 2>/dev/null
}
# ledger DIR EPOCHS: a job of 60,000 rows that saved to DIR has as many updates as its workers have batches of 512, each once.
ledger() {
	local n
	n=$(cat "$(ls -d "$work/data/$1"/ckpt-* | tail -n 1)/manifest.json" | grep -o '"step": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
	echo "servers count $n updates behind $2 epochs of $(((23919 + 511) / 512 + (23920 + 511) / 512)) batches"
	[ "$n" = $(($2 * ((23919 + 511) / 512 + (23920 + 511) / 512))) ]
}
# same A B: two models of the same bits, but for the record, which names the run.
same() {
	local f
	for f in "$work/data/$1"/model/*; do [ "$(basename "$f")" = model.json ] || cmp "$f" "$work/data/$2/model/$(basename "$f")" || return 1; done
	echo "the models of $1 and $2 have the same bits: $(ls "$work/data/$2/model" | xargs)"
}
