package rolemaker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// TFConfig reads TF_CONFIG, which Kubeflow's TFJob, Volcano's tensorflow plugin and others set:
//
//	{"cluster": {"ps": ["tf-ps-0.ns.svc:2222"], "worker": ["tf-worker-0.ns.svc:2222"]}, "task": {"type": "ps", "index": 0}}
//
// Tasks "ps" are servers. A chief, called master in older jobs, is worker 0, and tasks "worker" follow it. An evaluator
// is ignored. A cluster without servers is a collective job; one with a single task, or none, is a process alone. An
// elastic job, which lists no cluster, is refused.
type TFConfig struct {
	// Getenv looks a variable up; nil means os.Getenv.
	Getenv func(name string) string
}

// Identity implements [RoleMaker].
func (t TFConfig) Identity() (Identity, error) {
	return environment(t.Getenv).only("TFConfig", env.tfConfig)
}

const (
	envTFConfig  = "TF_CONFIG"
	envCluster   = "CLUSTER_SPEC" // of TonY, with the next two, and of Vertex AI
	envJobName   = "JOB_NAME"
	envTaskIndex = "TASK_INDEX"
)

// chiefs are the names of TensorFlow's first worker.
var chiefs = []string{"chief", "master"}

// tfTasks is the value of TF_CONFIG. Groups of tasks are lists, or objects in elastic jobs.
type tfTasks struct {
	Cluster map[string]json.RawMessage `json:"cluster"`
	Sparse  map[string]json.RawMessage `json:"sparseCluster"`
	Task    struct {
		Type  string      `json:"type"`
		Index json.Number `json:"index"`
	} `json:"task"`
}

func (e env) tfConfig() (c claim, err error) {
	value := strings.TrimSpace(e(envTFConfig))
	if value == "" {
		return claim{}, nil
	}
	c = claim{source: "TFConfig", names: []string{envTFConfig}}
	var tasks tfTasks
	if err := json.Unmarshal([]byte(value), &tasks); err != nil {
		return c, fmt.Errorf("%s: %w: %s", e.show(envTFConfig), err, advice)
	}
	return e.listed(c, tasks)
}

// tony is the claim of TonY, which sets the cluster of TF_CONFIG and the task in variables of their own. Vertex AI has
// another value in CLUSTER_SPEC.
func (e env) tony() (claim, error) {
	var tasks tfTasks
	if json.Unmarshal([]byte(e(envCluster)), &tasks.Cluster) != nil || tasks.Cluster["cluster"] != nil {
		return claim{}, nil
	}
	tasks.Task.Type = strings.TrimSpace(e(envJobName))
	tasks.Task.Index = json.Number(strings.TrimSpace(e(envTaskIndex)))
	return e.listed(claim{source: "FromEnvironment", names: e.found([]string{envCluster, envJobName, envTaskIndex})},
		tasks)
}

// listed completes the claim of a variable that lists tasks, its first name.
func (e env) listed(c claim, tasks tfTasks) (_ claim, err error) {
	var lists [3][]string // of chiefs, workers and servers
	all, dynamic := 0, len(tasks.Sparse) > 0
	for group, text := range tasks.Cluster {
		var list []string
		if json.Unmarshal(text, &list) != nil {
			dynamic = true
		}
		switch {
		case slices.Contains(chiefs, group):
			lists[0] = append(lists[0], list...)
		case group == "worker":
			lists[1] = list
		case group == "ps":
			lists[2] = list
		}
		all += len(list)
	}
	if all < 2 && !dynamic {
		return claim{}, nil
	}
	if err := c.task(tasks, len(lists[0])); err != nil || dynamic {
		return c, cmp.Or(err, fmt.Errorf("workers of this job come and go, so that %s does not list all "+
			"tasks: leave out enableDynamicWorker, or list servers and workers in FLEET_SERVERS and FLEET_WORKERS",
			c.names[0]))
	}
	c.id.Servers, c.id.WorkerEndpoints = lists[2], slices.Concat(lists[0], lists[1])
	c.id.Workers, c.id.Collective = len(c.id.WorkerEndpoints), len(lists[2]) == 0
	if err = checkEndpoints(slices.Concat(c.id.Servers, c.id.WorkerEndpoints)); err == nil {
		err = c.id.Validate()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", e.show(c.names...), err)
	}
	return c, err
}

// task finds this process among the tasks. Workers are numbered after the chiefs.
func (c *claim) task(tasks tfTasks, chief int) error {
	n, err := tasks.Task.Index.Int64()
	if tasks.Task.Index == "" {
		n, err = 0, nil
	}
	if err != nil || n < 0 {
		return fmt.Errorf("%s has a task of index %q; it must be a number from 0", c.names[0], tasks.Task.Index)
	}
	switch kind := tasks.Task.Type; {
	case kind == "ps":
		c.id.Role = Server
	case kind == "worker":
		c.id.Role, n = Worker, n+int64(chief)
	case slices.Contains(chiefs, kind):
		c.id.Role = Worker
	case kind == "":
		return fmt.Errorf("%s: it lists several tasks, and does not say which this process is: %s", c.names[0], advice)
	default:
		c.id.Role = nobody
		return fmt.Errorf("%s has a task of type %q, which takes no part in training: leave it out of the job, or say "+
			"rolemaker.Local{} in a program of its own", c.names[0], kind)
	}
	c.id.Index, c.indexed = int(n), true
	return nil
}
