package rolemaker

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Variables of launchers and operators which show that a process is one of several, in a form that no role maker reads.
// Numbers of independent tasks (JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID) are not among them: such a process may train
// by itself.

// advice is the remedy for a launcher that sets too little.
const advice = "set FLEET_ROLE, FLEET_INDEX, FLEET_SERVERS and FLEET_WORKERS on each process (or TRAINING_ROLE, " +
	"PADDLE_PSERVERS_IP_PORT_LIST and PADDLE_TRAINERS_NUM; see package rolemaker), or say rolemaker.Local{} if it " +
	"trains alone"

// stranger is the claim of a launcher which shows that this process is one of several, without a readable identity.
func (e env) stranger() (claim, error) {
	for _, s := range []struct {
		from    string
		several bool
		names   []string
	}{
		{"a launcher for ps-lite", true, []string{"DMLC_ROLE", "DMLC_NUM_SERVER", "DMLC_NUM_WORKER"}},
		{"SageMaker", e.entries("SM_HOSTS") > 1, []string{"SM_HOSTS", "SM_CURRENT_HOST"}},
		{"an operator for TPUs", len(e.list("TPU_WORKER_HOSTNAMES")) > 1,
			[]string{"TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES"}},
		{"Vertex AI", e.pools() > 1, []string{envCluster}},
		{"Volcano's plugin mpi (its program is mpirun, which starts this one)", true, []string{"MPI_HOST"}},
		{"an MPIJob (its launcher's program is mpirun, which starts this one)", true, []string{"K_MPI_JOB_ROLE"}},
	} {
		if names := e.found(s.names); len(names) > 0 && s.several {
			return claim{source: "FromEnvironment", names: names}, fmt.Errorf("%s: %s started this process as one of "+
				"several, and gofleet does not read that: %s", e.show(names...), s.from, advice)
		}
	}
	return claim{}, nil
}

// entries is the length of a list in JSON, 0 for anything else.
func (e env) entries(name string) int {
	var list []string
	if json.Unmarshal([]byte(e(name)), &list) != nil {
		return 0
	}
	return len(list)
}

// pools is the number of machines in Vertex AI's CLUSTER_SPEC; one that can't be read may have several.
func (e env) pools() (n int) {
	var spec struct {
		Cluster map[string][]string `json:"cluster"`
	}
	if json.Unmarshal([]byte(e(envCluster)), &spec) != nil {
		return 2
	}
	for _, machines := range spec.Cluster {
		n += len(machines)
	}
	return n
}

// someoneElse returns an error if another source says that this process is one of several.
func (e env) someoneElse() error {
	c, _, err := e.settle()
	if err == nil && (c.meeting != nil || c.speaks() && !c.id.Local()) {
		return errors.New(e.show(c.names...) + ": that is not for this role maker, but for " +
			"rolemaker.FromEnvironment(nil), which fleet.Init(nil) has; a process that trains alone says " +
			"rolemaker.Local{}")
	}
	return err
}

// show lists the variables that are set, with the beginning of each value.
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
