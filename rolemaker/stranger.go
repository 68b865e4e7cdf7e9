package rolemaker

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The variables of launchers and operators that tell a process that it is one of several, in words that no role maker
// reads. Numbers of independent tasks (JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID) are not among them: such a process
// may well train by itself.

// stranger is what one launcher has set.
type stranger struct {
	seen string // the variables and their values
	from string // who sets them
}

// strangers refuses an environment in which another launcher says that this process is one of several.
func (e env) strangers() error {
	for _, look := range []func() (stranger, bool){e.tensorFlow, e.volcano, e.counted, e.pslite, e.hosts} {
		if s, several := look(); several {
			return fmt.Errorf("%s: %s started this process as one of several, and gofleet does not read that: set "+
				"%s, %s, %s and the server's or worker's own place on each (see package rolemaker), or say "+
				"rolemaker.Local{} if it trains alone", s.seen, s.from, envRole, envServers, envWorkerNum)
		}
	}
	return nil
}

// numbered are the launchers that give each process a number and tell how many there are.
func numbered() []launcher {
	return []launcher{
		{name: "torchrun or an operator for PyTorch", rank: "RANK", size: "WORLD_SIZE"},
		{name: "an operator for PyTorch", rank: "PET_NODE_RANK", size: "PET_NNODES"},
		{name: "an operator for JAX", rank: "PROCESS_ID", size: "NUM_PROCESSES"},
		{name: "Horovod", rank: "HOROVOD_RANK", size: "HOROVOD_SIZE"},
		{name: "Flux", rank: "FLUX_TASK_RANK", size: "FLUX_JOB_SIZE"},
		{name: "jsrun", rank: "JSM_NAMESPACE_RANK", size: "JSM_NAMESPACE_SIZE"},
		{name: "AWS Batch", rank: "AWS_BATCH_JOB_NODE_INDEX", size: "AWS_BATCH_JOB_NUM_NODES"},
	}
}

// counted looks for a size that is not 1, or a number without a size. A RANK that is a word may be anybody's, and so
// may PROCESS_ID or NUM_PROCESSES without the other.
func (e env) counted() (stranger, bool) {
	for _, l := range numbered() {
		_, err := strconv.Atoi(strings.TrimSpace(e(l.rank)))
		size := strings.TrimSpace(e(l.size))
		several := size != "1" && (size != "" || err == nil)
		if l.rank == "PROCESS_ID" {
			several = several && size != "" && err == nil
		}
		if several {
			return stranger{e.show(l.rank, l.size), l.name}, true
		}
	}
	return stranger{}, false
}

// tensorFlow looks at the cluster of TF_CONFIG; what can't be read may have several processes.
func (e env) tensorFlow() (stranger, bool) {
	const name = "TF_CONFIG"
	var c struct {
		Cluster map[string]json.RawMessage `json:"cluster"`
		Sparse  map[string]json.RawMessage `json:"sparseCluster"`
	}
	value := strings.TrimSpace(e(name))
	if value == "" {
		return stranger{}, false
	}
	several := json.Unmarshal([]byte(value), &c) != nil || len(c.Cluster)+len(c.Sparse) > 1
	for _, tasks := range c.Cluster {
		var list []string
		several = several || json.Unmarshal(tasks, &list) != nil || len(list) > 1
	}
	return stranger{e.show(name), "an operator for TensorFlow"}, several || len(c.Sparse) > 0
}

// volcano looks at what Volcano's plugins set: VC_TASK_INDEX, and for each task of the job its hosts and their number.
func (e env) volcano() (stranger, bool) {
	all, number := 0, e.found([]string{"VC_TASK_INDEX", "VK_TASK_INDEX"})
	var seen []string
	for _, task := range volcanoTasks() {
		hosts, count := "VC_"+task+"_HOSTS", "VC_"+task+"_NUM"
		n, set, err := e.integer(count)
		if err != nil || !set {
			n = len(e.list(hosts))
		}
		all += n
		seen = append(seen, e.found([]string{hosts, count})...)
	}
	alone := all == 1 || all == 0 && len(number) == 0
	return stranger{e.show(append(number, seen...)...), "Volcano"}, !alone
}

// volcanoTasks are the usual names of tasks, and those in this process's environment.
func volcanoTasks() []string {
	tasks := []string{"CHIEF", "MASTER", "PS", "PSERVER", "SERVER", "TRAINER", "WORKER"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		task, isTask := strings.CutPrefix(name, "VC_")
		task, hosts := strings.CutSuffix(task, "_HOSTS")
		task, count := strings.CutSuffix(task, "_NUM")
		if isTask && (hosts || count) {
			tasks = append(tasks, task)
		}
	}
	slices.Sort(tasks)
	return slices.Compact(tasks)
}

// pslite looks for a role of ps-lite, which MXNet's and BytePS's launchers set too: it has a scheduler and servers in
// any job.
func (e env) pslite() (stranger, bool) {
	names := []string{"DMLC_ROLE", "DMLC_NUM_SERVER", "DMLC_NUM_WORKER"}
	return stranger{e.show(names...), "a launcher for ps-lite"}, len(e.found(names)) > 0
}

// hosts looks at lists of all machines.
func (e env) hosts() (stranger, bool) {
	var machines []string
	if json.Unmarshal([]byte(e("SM_HOSTS")), &machines) == nil && len(machines) > 1 {
		return stranger{e.show("SM_HOSTS", "SM_CURRENT_HOST"), "SageMaker"}, true
	}
	if len(e.list("TPU_WORKER_HOSTNAMES")) > 1 {
		return stranger{e.show("TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES"), "an operator for TPUs"}, true
	}
	return stranger{}, false
}

// show is what is set of names, with the beginning of each value.
func (e env) show(names ...string) string {
	var all []string
	for _, n := range e.found(names) {
		value := strings.TrimSpace(e(n))
		if len(value) > 120 {
			value = value[:120] + "…"
		}
		all = append(all, fmt.Sprintf("%s is %s", n, value))
	}
	return strings.Join(all, ", ")
}
