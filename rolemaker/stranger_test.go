package rolemaker_test

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/rolemaker"
)

// readers are the role makers that take a process whose environment says nothing for one alone.
func readers(env vars) map[string]rolemaker.RoleMaker {
	return map[string]rolemaker.RoleMaker{"FromEnvironment": rolemaker.FromEnvironment(env.get), "PaddleCloud": rolemaker.PaddleCloud{Getenv: env.get},
		"Collective": rolemaker.Collective{Getenv: env.get}}
}

// TestStrangersAreRefused: a process that a launcher has started as one of several never trains alone, and says what it saw: any role maker
// refuses it, or FromEnvironment reads it and the others refuse it.
//
// Promise: [G8] a process that another launcher started as one of several, and variables whose names are nearly
// right, are refused
// Also: TestOneOfOneIsAlone, TestMistypedNames, TestMistypedVariables (fleet)
func TestStrangersAreRefused(t *testing.T) {
	const kubeflow = `{"cluster":{"ps":["ps-0:2222"],"worker":["worker-0:2222","worker-1:2222"]},"task":{"type":"worker","index":1}}`
	for name, c := range map[string]struct {
		env  vars
		read string // what FromEnvironment makes of it, "" if it is refused
		want []string
	}{
		"TensorFlow":            {vars{"TF_CONFIG": kubeflow}, "worker 1 of 2, servers ps-0:2222", []string{`TF_CONFIG is {"cluster":{"ps":["ps-0:2222"]`}},
		"TensorFlow, no task":   {vars{"TF_CONFIG": `{"cluster":{"ps":["a:1"],"worker":["b:1"]}}`}, "", []string{"TF_CONFIG", "does not say which"}},
		"TensorFlow, sparse":    {vars{"TF_CONFIG": `{"sparseCluster":{"worker":{"1":"b:1"},"ps":["a:1"]},"task":{"type":"worker"}}`}, "", []string{"TF_CONFIG", "come and go"}},
		"TensorFlow, by number": {vars{"TF_CONFIG": `{"cluster":{"worker":{"1":"b:1"}},"task":{"type":"worker"}}`}, "", []string{"TF_CONFIG", "come and go"}},
		"TensorFlow, no JSON":   {vars{"TF_CONFIG": `cluster: worker`}, "", []string{"TF_CONFIG is cluster: worker"}},
		"Volcano": {vars{"VC_TASK_INDEX": "1", "VC_PS_HOSTS": "job-ps-0.job", "VC_PS_NUM": "1", "VC_WORKER_HOSTS": "job-worker-0.job,job-worker-1.job",
			"VC_WORKER_NUM": "2"}, "", []string{"VC_TASK_INDEX is 1", "VC_PS_HOSTS is job-ps-0.job", "VC_WORKER_NUM is 2", "HOSTNAME is not set"}},
		"Volcano, hosts alone":   {vars{"VC_TRAINER_HOSTS": "a,b"}, "", []string{"VC_TRAINER_HOSTS is a,b"}},
		"Volcano, number alone":  {vars{"VC_TASK_INDEX": "0"}, "", []string{"VC_TASK_INDEX is 0"}},
		"torchrun, no master":    {vars{"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}, "", []string{"RANK is 0, WORLD_SIZE is 2", "torchrun", "set FLEET_RENDEZVOUS"}},
		"torchrun, no size":      {vars{"RANK": "3"}, "", []string{"RANK is 3"}},
		"torchrun, no rank":      {vars{"WORLD_SIZE": "2"}, "", []string{"WORLD_SIZE is 2"}},
		"torchrun, no number":    {vars{"WORLD_SIZE": "two"}, "", []string{"WORLD_SIZE is two"}},
		"nodes of PyTorch":       {vars{"PET_NNODES": "2", "PET_NODE_RANK": "1"}, "", []string{"PET_NODE_RANK is 1, PET_NNODES is 2"}},
		"JAX":                    {vars{"PROCESS_ID": "0", "NUM_PROCESSES": "2"}, "", []string{"PROCESS_ID is 0, NUM_PROCESSES is 2", "JAX"}},
		"Horovod":                {vars{"HOROVOD_RANK": "0", "HOROVOD_SIZE": "2"}, "", []string{"HOROVOD_RANK is 0", "Horovod"}},
		"Flux":                   {vars{"FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "2"}, "", []string{"FLUX_JOB_SIZE is 2"}},
		"jsrun":                  {vars{"JSM_NAMESPACE_RANK": "0", "JSM_NAMESPACE_SIZE": "2"}, "", []string{"JSM_NAMESPACE_SIZE is 2"}},
		"AWS Batch":              {vars{"AWS_BATCH_JOB_NODE_INDEX": "0", "AWS_BATCH_JOB_NUM_NODES": "2"}, "", []string{"AWS_BATCH_JOB_NUM_NODES is 2"}},
		"ps-lite":                {vars{"DMLC_ROLE": "worker", "DMLC_NUM_WORKER": "1"}, "", []string{"DMLC_ROLE is worker, DMLC_NUM_WORKER is 1", "ps-lite"}},
		"SageMaker":              {vars{"SM_HOSTS": `["algo-1","algo-2"]`, "SM_CURRENT_HOST": "algo-1"}, "", []string{`SM_HOSTS is ["algo-1","algo-2"], SM_CURRENT_HOST is algo-1`}},
		"TPUs":                   {vars{"TPU_WORKER_ID": "0", "TPU_WORKER_HOSTNAMES": "a,b"}, "", []string{"TPU_WORKER_HOSTNAMES is a,b"}},
		"one rank of Open MPI":   {openMPI(0, 1).with("RANK", "0", "WORLD_SIZE", "2"), "", []string{"WORLD_SIZE is 2"}},
		"a script under sbatch":  {slurm(0, 6).with("SLURM_STEP_ID", "", "WORLD_SIZE", "2"), "", []string{"WORLD_SIZE is 2"}},
		"a long list, shortened": {vars{"TPU_WORKER_HOSTNAMES": strings.Repeat("host,", 1000)}, "", []string{"host,…: an operator"}},
	} {
		for reader, rm := range readers(c.env) {
			id, err := rolemaker.Resolve(t.Context(), rm)
			if reader == "FromEnvironment" && c.read != "" {
				if err != nil || id.String() != c.read {
					t.Errorf("%s: %v, error %v", name, id, err)
				}
				continue
			}
			if err == nil {
				t.Errorf("%s: %s takes it for %v", name, reader, id)
				continue
			}
			for _, want := range append(c.want, "rolemaker: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %s: error %q does not say %q", name, reader, err, want)
				}
			}
		}
	}
}

// TestOneOfOneIsAlone: a launcher of one process, and names that launchers use and others too, are no job.
func TestOneOfOneIsAlone(t *testing.T) {
	for name, env := range map[string]vars{
		"torchrun":                 {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"},
		"a size":                   {"WORLD_SIZE": "1"},
		"somebody's rank":          {"RANK": "captain"},
		"somebody's process":       {"PROCESS_ID": "4711"},
		"somebody's processes":     {"NUM_PROCESSES": "8"},
		"TensorFlow":               {"TF_CONFIG": `{"cluster":{"chief":["a:1"]},"task":{"type":"chief","index":0}}`},
		"TensorFlow, no cluster":   {"TF_CONFIG": `{"environment":"cloud"}`},
		"Volcano":                  {"VC_TASK_INDEX": "0", "VC_MASTER_HOSTS": "job-master-0.job", "VC_MASTER_NUM": "1"},
		"SageMaker":                {"SM_HOSTS": `["algo-1"]`, "SM_CURRENT_HOST": "algo-1"},
		"a task of an indexed job": {"JOB_COMPLETION_INDEX": "3"},
		"a task of an array":       {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "10"},
		"a TPU":                    {"TPU_WORKER_ID": "0", "TPU_WORKER_HOSTNAMES": "localhost"},
	} {
		for reader, rm := range readers(env) {
			id, err := rolemaker.Resolve(t.Context(), rm)
			if err != nil || id.String() != "worker 0 of 1, alone" {
				t.Errorf("%s: %s: %v, error %v", name, reader, id, err)
			}
		}
	}
}

// TestStrangersBesideAJob: what gofleet reads wins.
func TestStrangersBesideAJob(t *testing.T) {
	env := byHandWorker().with("RANK", "1", "WORLD_SIZE", "4", "VC_TASK_INDEX", "1")
	for _, name := range []string{"FromEnvironment", "PaddleCloud"} {
		id, err := readers(env)[name].Identity()
		if err != nil || id.String() != "worker 1 of 2, servers "+twoServers {
			t.Errorf("%s: %v, error %v", name, id, err)
		}
	}
	id, err := rolemaker.FromEnvironment(openMPI(3, 8).with("WORLD_SIZE", "8").get).Identity()
	if err != nil || id.Workers != 4 {
		t.Errorf("ranks of Open MPI: %v, error %v", id, err)
	}
	if id, err := (rolemaker.Local{}).Identity(); err != nil || !id.Local() {
		t.Errorf("a program that says so: %v, error %v", id, err)
	}
}

// TestTasksOfAnyName: Volcano's variables have the names that a job gives its tasks.
func TestTasksOfAnyName(t *testing.T) {
	t.Setenv("VC_TASK_INDEX", "")
	t.Setenv("VC_GPU_BOX_HOSTS", "a,b")
	_, err := rolemaker.FromEnvironment(nil).Identity()
	if err == nil || !strings.Contains(err.Error(), "VC_GPU_BOX_HOSTS is a,b") {
		t.Errorf("error %v", err)
	}
}

// TestMistypedNames: a variable whose name is nearly right is refused, with the right name, where it would be as if it were not there.
func TestMistypedNames(t *testing.T) {
	for name, meant := range map[string]string{"PADDLE_PSERVER_IP_PORT_LIST": "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINERS_ID": "PADDLE_TRAINER_ID",
		"PADDLE_TRAINER_ENDPOINT": "PADDLE_TRAINER_ENDPOINTS", "TRAINING_ROLES": "TRAINING_ROLE"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "1")
			for reader, rm := range map[string]rolemaker.RoleMaker{"FromEnvironment": rolemaker.FromEnvironment(nil), "PaddleCloud": rolemaker.PaddleCloud{},
				"Collective": rolemaker.Collective{}} {
				_, err := rm.Identity()
				if err == nil || !strings.Contains(err.Error(), name+" is set, which nothing reads: did you mean "+meant+"?") {
					t.Errorf("%s: error %v", reader, err)
				}
			}
			if _, err := (rolemaker.Local{}).Identity(); err != nil {
				t.Errorf("a process that reads none: %v", err)
			}
		})
	}
}
