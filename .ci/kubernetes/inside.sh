#!/bin/bash
# inside.sh DIR control NODES | node N: run by up.sh as the first process of a mount and PID namespace, not by hand.
set -euo pipefail
DIR=$1 S=$1/state
. "$(dirname "$0")/lib.sh"
. "$DIR/env"
export LD_LIBRARY_PATH=$DIR/debian/usr/lib/x86_64-linux-gnu PATH=$DIR/debian/usr/bin:$DIR/debian/usr/sbin:/usr/sbin:/sbin:$PATH
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY
mount -t proc proc /proc
start() { # start NAME COMMAND...: its end is written to state/ended, where up.sh looks
	local n=$1; shift
	("$@" > "$DIR/log/$n.log" 2>&1 || true; echo "$n" >> "$S/ended") &
}

if [ "$2" = control ]; then
	# The daemons write to fixed places in these two: overlays keep that from the machine.
	for d in lib log; do mkdir -p "$S/over/$d" "$S/over/$d.work"; mount -t overlay overlay -o "lowerdir=/var/$d,upperdir=$S/over/$d,workdir=$S/over/$d.work" "/var/$d"; done
	mkdir -p /var/lib/kubelet /var/lib/cni /var/log/containers
	for ((i = 0; i < $3; i++)); do
		unshare --mount --propagation private --pid --fork --kill-child "$0" "$DIR" node $i > "$DIR/log/node-$i.log" 2>&1 &
	done
	cd "$S/pki"
	start etcd etcd --data-dir "$S/etcd" --listen-client-urls http://127.0.0.1:12379 --advertise-client-urls http://127.0.0.1:12379 \
		--listen-peer-urls http://127.0.0.1:12380 --initial-advertise-peer-urls http://127.0.0.1:12380 --initial-cluster default=http://127.0.0.1:12380 --unsafe-no-fsync
	start apiserver kube-apiserver --etcd-servers=http://127.0.0.1:12379 --bind-address=127.0.0.1 --secure-port=16443 --cert-dir="$S/pki" \
		--service-account-issuer=https://kubernetes.default.svc --service-account-key-file=sa.pub --service-account-signing-key-file=sa.key \
		--token-auth-file=tokens.csv --authorization-mode=RBAC --service-cluster-ip-range=10.96.0.0/24 --endpoint-reconciler-type=none \
		--allow-privileged=true --kubelet-preferred-address-types=InternalIP
	for ((i = 0; i < 600; i++)); do [ ! -f apiserver.crt ] || break; sleep .1; done
	start controllers kube-controller-manager --kubeconfig="$KUBECONFIG" --service-account-private-key-file=sa.key --root-ca-file=apiserver.crt \
		--leader-elect=false --bind-address=127.0.0.1 --flex-volume-plugin-dir="$S/volumeplugins" ${CONTROLLERS_FLAGS:-}
	start scheduler kube-scheduler --kubeconfig="$KUBECONFIG" --leader-elect=false --bind-address=127.0.0.1
	cat > "$S/Corefile" <<-Y
	.:53 { # "no such name" to all others, as a cluster with a way out would get
	    bind $NET.1
	    errors
	    template ANY ANY {
	        rcode NXDOMAIN
	    }
	}
	cluster.local:53 {
	    bind $NET.1
	    errors
	    ready 127.0.0.1:18181
	    kubernetes cluster.local {
	        endpoint https://127.0.0.1:16443
	        kubeconfig $KUBECONFIG c
	        pods verified
	        ttl 2
	    }
	}
	Y
	start coredns coredns -conf "$S/Corefile"
	while :; do wait -n || true; sleep .2; done # takes in orphans until it is ended
fi

# a node: containerd and kubelet, with a /run and a /var/lib/kubelet of its own
i=$3 me=$NET.$(($3 + 1)) N=$S/node-$3
mkdir -p "$N"/{cni,kubelet,containerd}
mount -t tmpfs tmpfs /run; mkdir -p /run/lock /run/netns
for d in /var/lib/kubelet /var/lib/cni /var/log/containers; do mount -t tmpfs tmpfs $d; done
cat > "$N/cni/10-fleet.conflist" <<Y
{"cniVersion":"0.4.0","name":"fleet","plugins":[{"type":"bridge","bridge":"$BRIDGE","isGateway":false,"ipMasq":false,
 "ipam":{"type":"host-local","dataDir":"$N/ipam","ranges":[[{"subnet":"$NET.0/24","rangeStart":"$NET.$((10 + 120 * i))","rangeEnd":"$NET.$((129 + 120 * i))","gateway":"$NET.1"}]]}}]}
Y
cat > "$N/containerd.toml" <<Y
version = 2
root = "$N/containerd"
state = "/run/containerd-state"
[grpc]
  address = "$S/run/node-$i.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$N/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$DIR/debian/usr/lib/cni"
    conf_dir = "$N/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        BinaryName = "$DIR/debian/usr/sbin/runc"
Y
: > "$N/resolv.conf"
cat > "$N/kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $me
healthzPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /$GROUP/node-$i
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
containerRuntimeEndpoint: unix://$S/run/node-$i.sock
volumePluginDir: $N/volumeplugins
clusterDNS: [$NET.1]
clusterDomain: cluster.local
resolvConf: $N/resolv.conf
podLogsDir: $N/podlogs
imageGCHighThresholdPercent: 100
evictionHard: {nodefs.available: 1%, imagefs.available: 1%, memory.available: 100Mi, nodefs.inodesFree: 1%}
shutdownGracePeriod: 0s
Y
start "containerd-$i" containerd -c "$N/containerd.toml"
for ((k = 0; k < 600; k++)); do [ ! -f "$S/pki/apiserver.crt" ] || break; sleep .1; done
start "kubelet-$i" kubelet --config="$N/kubelet.yaml" --kubeconfig="$KUBECONFIG" --root-dir="$N/kubelet" --cert-dir="$N/pki" --node-ip=$me --hostname-override=node-$i
while :; do wait -n || true; sleep .2; done
