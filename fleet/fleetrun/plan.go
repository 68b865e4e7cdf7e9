package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// role is one process of the job.
type role struct {
	kind kind
	rank int // in the whole job, from 0
}

// kind is what a role does.
type kind string

const (
	server kind = "server"
	worker kind = "worker"
)

func (r role) String() string { return fmt.Sprintf("%s %d", r.kind, r.rank) }

// job is the roles of a job, their endpoints, and which of them run on this machine.
type job struct {
	servers, workers []endpoint // by rank
	here             []role     // servers first
	live             bool       // the first worker of this machine writes to a terminal
	width            int        // of the terminal, 0 if unknown
	// how all workers show their progress, by the user's choice; "": live or plain, as suits each
	shows     string
	otherwise []variable // variables that roles do not inherit as they are
	scratch   string     // a directory that lasts as long as the job
	token     string     // made for the roles, "" if they have another protection
	places    []endpoint // for metrics of the roles here, if there is a page
	uiToken   string     // of the page, "" without one
}

// count returns how many roles of a kind run on this machine.
func (j *job) count(k kind) int {
	n := 0
	for _, r := range j.here {
		if r.kind == k {
			n++
		}
	}
	return n
}

// first returns the lowest role of a kind on this machine.
func (j *job) first(k kind) (role, bool) {
	i := slices.IndexFunc(j.here, func(r role) bool { return r.kind == k })
	if i < 0 {
		return role{}, false
	}
	return j.here[i], true
}

// whole reports whether all workers run on this machine: their end is then the end of the job.
func (j *job) whole() bool { return j.count(worker) == len(j.workers) }

// plan makes a job of a command line, or returns what is wrong with it.
func plan(o *options, m machine) (*job, error) {
	j := &job{}
	var err error
	if o.collective() {
		if err = o.expand(); err != nil {
			return nil, err
		}
	}
	if j.servers, err = parseList("servers", o.servers, nil); err != nil {
		return nil, err
	}
	if j.workers, err = parseList("workers", o.workers,
		func(rank int) int { return firstWorkerPort + rank }); err != nil {
		return nil, err
	}
	if err := distinct(slices.Concat(j.servers, j.workers)); err != nil {
		return nil, err
	}
	if err := o.agree(j); err != nil {
		return nil, err
	}
	if err := j.place(o, m); err != nil {
		return nil, err
	}
	return j, j.addLocal(o)
}

// agree checks counts against lists and that both kinds are named somehow.
func (o *options) agree(j *job) error {
	if o.workers == "" && o.perNode.set {
		if o.workerNum.set && o.workerNum.n != o.perNode.n {
			return fmt.Errorf("--worker_num=%d and --nproc_per_node=%d say two things: all workers run on this "+
				"machine, give one", o.workerNum.n, o.perNode.n)
		}
		o.workerNum = o.perNode
	}
	if !o.collective() {
		if o.servers == "" && !o.serverNum.set {
			return o.nobody()
		}
		if err := agree("server", o.serverNum, o.servers, len(j.servers)); err != nil {
			return err
		}
	}
	return agree("worker", o.workerNum, o.workers, len(j.workers))
}

// nobody is the error of a command line without roles; it also finds flags that come too late.
func (o *options) nobody() error {
	for _, arg := range o.args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && o.flags.Lookup(name) != nil {
			return fmt.Errorf("no roles named: %s comes after the program and is passed to it: put fleetrun's flags "+
				"before %s", arg, o.program)
		}
	}
	return errors.New("no roles named: --server_num=N --worker_num=N start servers and workers here, " +
		"--nproc_per_node=N workers " +
		"without servers; a program that trains alone needs no fleetrun")
}

func agree(kind string, num count, list string, listed int) error {
	if !num.set && list == "" {
		return fmt.Errorf("no %ss: say how many run on this machine with --%s_num, or name them with --%ss", kind, kind,
			kind)
	}
	if num.set && list != "" && num.n != listed {
		return fmt.Errorf("--%s_num=%d, but --%ss=%s names %d: drop one of the two, or make them agree", kind, num.n,
			kind, list, listed)
	}
	return nil
}

func distinct(all []endpoint) error {
	seen := map[string]bool{}
	for _, e := range all {
		if seen[e.String()] {
			return fmt.Errorf("%v stands twice in --servers and --workers: each role needs an endpoint of its own", e)
		}
		seen[e.String()] = true
	}
	return nil
}

// place finds the listed roles that run on this machine.
func (j *job) place(o *options, m machine) error {
	listed := slices.Concat(j.servers, j.workers)
	hosts := make([]string, len(listed))
	for i, e := range listed {
		hosts[i] = e.host
	}
	local := m.among(hosts)
	j.here = append(pick(server, j.servers, local), pick(worker, j.workers, local)...)
	switch {
	case len(listed) > 0 && len(j.here) == 0:
		return fmt.Errorf("none of %s is this machine (%s): start fleetrun on a machine of the lists, or set POD_IP "+
			"to the address that they give this one", listedFlags(o), m.describe())
	case len(j.here) < len(listed) && !o.collective() && (o.servers == "" || o.workers == ""):
		return fmt.Errorf("%s names other machines, so the job needs both lists: --servers and --workers",
			listedFlags(o))
	case o.workers != "" && o.perNode.set && j.count(worker) != o.perNode.n:
		return fmt.Errorf("--nproc_per_node=%d, but --workers=%s gives this machine %d", o.perNode.n, o.workers,
			j.count(worker))
	}
	return nil
}

func pick(k kind, list []endpoint, local func(host string) bool) []role {
	var here []role
	for i, e := range list {
		if local(e.host) {
			here = append(here, role{k, i})
		}
	}
	return here
}

func listedFlags(o *options) string {
	var given []string
	if o.servers != "" {
		given = append(given, "--servers="+o.servers)
	}
	if o.workers != "" {
		given = append(given, "--workers="+o.workers)
	}
	return strings.Join(given, " and ")
}

// addLocal adds the roles that are given by a count: on this machine, on loopback, on free ports.
func (j *job) addLocal(o *options) error {
	servers, workers := 0, 0
	if o.servers == "" {
		servers = o.serverNum.n
	}
	if o.workers == "" {
		workers = o.workerNum.n
	}
	found, err := freePorts(servers+workers, slices.Concat(j.servers, j.workers))
	if err != nil {
		return errors.Join(errors.New("no free ports for the job"), err)
	}
	listedServers, listedWorkers := j.here[:j.count(server)], j.here[j.count(server):]
	j.servers = append(j.servers, found[:servers]...)
	j.workers = append(j.workers, found[servers:]...)
	j.here = slices.Concat(listedServers, ranks(server, servers), listedWorkers, ranks(worker, workers))
	return nil
}

func ranks(k kind, n int) []role {
	out := make([]role, n)
	for i := range out {
		out[i] = role{k, i}
	}
	return out
}
