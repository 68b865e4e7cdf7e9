package rolemaker

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/rolemaker/internal/rendezvous"
)

// numbered are the launchers of processes without roles. They set a number for each, the number of processes and, some
// of them, the address of number 0. The processes are the workers of a collective job; if FLEET_SERVERS is a number,
// that many of the first are servers, and if it is a list, FLEET_WORKERS decides whether all are workers with these
// servers.
func numbered() []launcher {
	return []launcher{
		{name: "torchrun", rank: "RANK", size: "WORLD_SIZE", address: "MASTER_ADDR", port: "MASTER_PORT"},
		{name: "an operator for PyTorch", rank: "PET_NODE_RANK", size: "PET_NNODES",
			address: "PET_MASTER_ADDR", port: "PET_MASTER_PORT"},
		{name: "an operator for JAX", rank: "PROCESS_ID", size: "NUM_PROCESSES",
			address: "COORDINATOR_ADDRESS", port: "COORDINATOR_PORT"},
		{name: "LeaderWorkerSet", rank: "LWS_WORKER_INDEX", size: "LWS_GROUP_SIZE", address: "LWS_LEADER_ADDRESS"},
		{name: "Horovod", rank: "HOROVOD_RANK", size: "HOROVOD_SIZE"},
		{name: "Flux", rank: "FLUX_TASK_RANK", size: "FLUX_JOB_SIZE"},
		{name: "jsrun", rank: "JSM_NAMESPACE_RANK", size: "JSM_NAMESPACE_SIZE"},
		{name: "AWS Batch", rank: "AWS_BATCH_JOB_NODE_INDEX", size: "AWS_BATCH_JOB_NUM_NODES"},
	}
}

func (e env) ranks() (c claim, err error) {
	l, several := e.counted()
	if !several {
		return claim{}, nil
	}
	c = claim{source: "Ranks", names: e.found([]string{l.rank, l.size, l.address, l.port})}
	w, ok, err := e.place(l)
	if err == nil && !ok {
		err = fmt.Errorf("%s is not set", l.rank)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %s started this process as one of several, but %w: %s", e.show(c.names...), l.name,
			err, advice)
	}
	w.job = cmp.Or(e("TORCHELASTIC_RUN_ID"), w.job)
	where := e.master(l)
	if own, _ := e.declared(); !own.listed() && cmp.Or(where, e(rendezvous.Variable)) == "" {
		return c, fmt.Errorf("%s: %s started this process as one of several, and says nowhere how to find the others: "+
			"set %s on all to host:port of number 0, or: %s", e.show(c.names...), l.name, rendezvous.Variable, advice)
	}
	if c.id, err = divided(e, w, Identity{}); err == nil {
		c.indexed, c.meeting = true, &meeting{world: w, where: where}
	}
	return c, err
}

// counted looks for a size that is not 1, or a number without a size. A RANK that is a word may belong to another
// program, and so may PROCESS_ID or NUM_PROCESSES without the other.
func (e env) counted() (launcher, bool) {
	for _, l := range numbered() {
		_, err := strconv.Atoi(strings.TrimSpace(e(l.rank)))
		size := strings.TrimSpace(e(l.size))
		several := size != "1" && (size != "" || err == nil)
		if l.rank == "PROCESS_ID" {
			several = several && size != "" && err == nil
		}
		if several {
			return l, true
		}
	}
	return launcher{}, false
}

// division divides ranks into servers and workers, by gofleet's own variables.
type division struct {
	world
	own     claim
	servers string // the value of FLEET_SERVERS
}

// divided is the identity of a rank: as declared, or else by the number of servers.
func divided(e env, w world, id Identity) (Identity, error) {
	own, err := e.declared()
	if err != nil {
		return Identity{}, err
	}
	d := division{w, own, e(envFleetServers)}
	if id.Role != 0 {
		return d.agreed(id)
	}
	return d.identity()
}

// identity is the identity of this rank. Without servers all ranks train, and so they do with a list of servers that
// are no ranks; otherwise the first ranks are the servers, and the others train.
func (d division) identity() (Identity, error) {
	servers := len(d.own.id.Servers)
	id := Identity{Role: Worker, Index: d.rank, Workers: d.size}
	switch {
	case d.own.listed() && d.own.id.Workers != d.size-servers:
		id.Servers = d.own.id.Servers
	case servers >= d.size:
		return Identity{}, fmt.Errorf("%s is %d, but %s is %d: at least one must train", envFleetServers, servers,
			d.launcher.size, d.size)
	case servers == 0:
		id.Collective, id.WorkerEndpoints = true, make([]string, d.size)
	default:
		id.Workers, id.Servers = d.size-servers, make([]string, servers)
		if id.Index -= servers; d.rank < servers {
			id.Role, id.Index = Server, d.rank
		}
	}
	return d.agreed(id)
}

// agreed is a rank's identity, unless FLEET_WORKERS differs from the number of workers among the ranks.
func (d division) agreed(id Identity) (Identity, error) {
	own, said := d.own, d.own.id.Workers
	switch {
	case own.id.Role == Server || said == id.Workers && said != 0 || said == 0 && !own.listed():
		return id, nil
	case own.listed():
		return Identity{}, disagreement{fmt.Errorf("%s is %q and %s is %d, but %s is %d: set %s to that on all if all "+
			"ranks are workers beside these servers, or to as many as are left if the first ranks are these servers",
			envFleetServers, d.servers, envFleetWorkers, said, d.launcher.size, d.size, envFleetWorkers)}
	}
	return Identity{}, disagreement{fmt.Errorf("%s is %d, but %s is %d, and %d of these train: change the one or the "+
		"other, or %s, which says how many of them serve", envFleetWorkers, said, d.launcher.size, d.size, id.Workers,
		envFleetServers)}
}

// disagreement is the error of ranks whose numbers differ from FLEET_SERVERS and FLEET_WORKERS.
type disagreement struct{ error }

// master is the address of number 0, "" if the launcher doesn't set it. Under torchrun its agent listens there already,
// and the next port is free.
func (e env) master(l launcher) string {
	host, port := strings.TrimSpace(e(l.address)), e.port(l.port)
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, cmp.Or(port, p)
	}
	if host == "" {
		return ""
	}
	if n, err := strconv.Atoi(port); err == nil && strings.EqualFold(e("TORCHELASTIC_USE_AGENT_STORE"), "true") {
		port = strconv.Itoa(n + 1)
	}
	return joinHostPort(host, cmp.Or(port, e.port(envFleetPort), defaultPort))
}
