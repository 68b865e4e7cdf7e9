package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// collective reports whether the job has no servers: its workers sum gradients among themselves.
func (j *job) collective() bool { return len(j.servers) == 0 }

// collective reports whether the command line is of a job without servers: it names workers, in any of the ways, and no
// servers.
func (o *options) collective() bool {
	named := o.workers != "" || o.workerNum.set || o.perNode.set || o.ips != "" || len(o.ignoredDevices()) > 0
	return named && o.servers == "" && !o.serverNum.set
}

// expand turns the ways to name the workers of a collective job into a list or a count: --ips with --nproc_per_node,
// the latter alone, or, if nothing else gives a count, one worker for each device of a machine.
func (o *options) expand() error {
	perNode := o.perNode.n
	if !o.perNode.set && o.workers == "" && !o.workerNum.set {
		perNode = o.devicesNamed()
		o.perDevice = perNode > 0
	}
	switch {
	case o.ips != "" && (o.workers != "" || o.workerNum.set):
		return fmt.Errorf("--ips=%s names machines, and --workers or --worker_num workers: give one", o.ips)
	case o.ips != "":
		return o.expandIPs(max(1, perNode))
	case o.workers == "" && !o.workerNum.set && !o.perNode.set:
		o.workerNum = count{n: perNode, set: true}
	}
	return nil
}

// expandIPs lists the same number of workers on each machine, from port 6170 on.
func (o *options) expandIPs(perNode int) error {
	var all []string
	for ip := range strings.SplitSeq(o.ips, ",") {
		e, err := parseEndpoint(strings.TrimSpace(ip))
		if err != nil {
			return fmt.Errorf("--ips=%s: %q: %w", o.ips, ip, err)
		}
		if e.port != "" {
			return fmt.Errorf("--ips=%s: %q has a port: give machines, or workers with --workers", o.ips, ip)
		}
		for i := range perNode {
			all = append(all, endpoint{e.host, strconv.Itoa(firstWorkerPort + i)}.String())
		}
	}
	if len(all) > maxRoles {
		return fmt.Errorf("--ips=%s with %d workers each are %d workers: between 1 and %d can be started",
			o.ips, perNode, len(all), maxRoles)
	}
	o.workers, o.perNode = strings.Join(all, ","), count{n: perNode, set: true}
	return nil
}

// devicesNamed is the number of devices in the first device flag.
func (o *options) devicesNamed() int {
	for _, list := range o.devices {
		if list != "" {
			return len(slices.Compact(strings.Split(list, ",")))
		}
	}
	return 0
}

// collectiveEnvironment is the environment of a worker in a job without servers.
func (j *job) collectiveEnvironment(r role) []variable {
	vars := []variable{
		{"PADDLE_TRAINERS_NUM", strconv.Itoa(len(j.workers))},
		{"PADDLE_TRAINER_ENDPOINTS", join(j.workers)},
		{"PADDLE_TRAINER_ID", strconv.Itoa(r.rank)},
		{"PADDLE_CURRENT_ENDPOINT", j.workers[r.rank].String()},
	}
	return append(vars, j.progress(r)...)
}
