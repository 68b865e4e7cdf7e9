package rolemaker

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Volcano reads what Volcano's plugins svc and env set: the hosts of each task, VC_PS_HOSTS=wd-ps-0.wd,wd-ps-1.wd, and
// VC_TASK_INDEX.
//
// Tasks ps, pserver and server are servers; chief, master, worker and trainer are workers, in that order. No variable
// names the task of a process, so it looks for its own host, HOSTNAME, in the lists; its index there must equal
// VC_TASK_INDEX, if the plugin env sets it. All listen at FLEET_PORT, 36000 if that is not set. A job without servers
// is collective. If pods have readiness probes, give the plugin svc the option publish-not-ready-addresses.
type Volcano struct {
	// Getenv looks a variable up; nil means os.Getenv.
	Getenv func(name string) string
}

// Identity implements [RoleMaker].
func (v Volcano) Identity() (Identity, error) {
	return environment(v.Getenv).only("Volcano", env.volcano)
}

// The tasks of a job by role; the order of workerTasks is that of the workers' numbers.
var (
	serverTasks = []string{"PS", "PSERVER", "SERVER"}
	workerTasks = []string{"CHIEF", "MASTER", "WORKER", "TRAINER"}
)

func (e env) volcano() (c claim, err error) {
	c = claim{source: "Volcano", names: e.found([]string{"VC_TASK_INDEX", "VK_TASK_INDEX"})}
	number, name, err := e.either("VC_TASK_INDEX", "VK_TASK_INDEX")
	hosts := 0
	for _, task := range volcanoTasks() {
		names := []string{"VC_" + task + "_HOSTS", "VC_" + task + "_NUM"}
		c.names = append(c.names, e.found(names)...)
		n, _, wrong := e.integer(names[1])
		list, bad := e.withPorts(e.list(names[0]))
		if at, _ := e.ownPlace(list); at >= 0 && number != "" && number != fmt.Sprint(at) {
			bad = fmt.Errorf("%s is %s, but %s, which is number %d of %s", name, number, e.show(envHostname), at,
				e.show(names[0]))
		}
		err, hosts = cmp.Or(err, wrong, bad), hosts+max(n, len(list))
		switch {
		case slices.Contains(serverTasks, task):
			c.id.Servers = append(c.id.Servers, list...)
		case slices.Contains(workerTasks, task):
			c.id.WorkerEndpoints = append(c.id.WorkerEndpoints, list...)
		}
	}
	if hosts == 1 || len(c.names) == 0 {
		return claim{}, nil
	}
	c.id.Workers = len(c.id.WorkerEndpoints)
	c.id.Collective = c.id.Workers > 0 && len(c.id.Servers) == 0
	c = e.placed(c)
	if err == nil && c.indexed {
		return c, c.id.Validate()
	}
	if hosts == 0 { // the number, for a task that is not named
		c.id.Index, c.indexed, _ = e.integer(name)
	}
	return c, cmp.Or(err, fmt.Errorf("%s: Volcano started this process as one of several, but this host (%s) is not "+
		"one of the servers (tasks ps, pserver or server) or workers (worker, trainer, master or chief) that its "+
		"plugin svc lists: %s", e.show(c.names...), cmp.Or(e.show(envHostname), envHostname+" is not set"), advice))
}

// volcanoTasks are the usual names of tasks, in order, followed by the names in this process's environment.
func volcanoTasks() []string {
	tasks := slices.Concat(serverTasks, workerTasks)
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		task, isTask := strings.CutPrefix(name, "VC_")
		task, hosts := strings.CutSuffix(task, "_HOSTS")
		task, count := strings.CutSuffix(task, "_NUM")
		if isTask && (hosts || count) && !slices.Contains(tasks, task) {
			tasks = append(tasks, task)
		}
	}
	return tasks
}
