package rolemaker_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/rolemaker"
)

// Values of TF_CONFIG but for the task.
const (
	twoByTwo = `{"cluster":{"ps":["wd-ps-0.ns.svc:2222","wd-ps-1.ns.svc:2222"],"worker":["wd-worker-0.ns.svc:2222","wd-worker-1.ns.svc:2222"]}`
	withAll  = `{"cluster":{"chief":["chf-chief-0.default.svc:2222"],"evaluator":["chf-evaluator-0.default.svc:2222"],` +
		`"ps":["chf-ps-0.default.svc:2222"],"worker":["chf-worker-0.default.svc:2222"]}`
)

// Sources of the environments below.
const (
	tfOperator  = "training-operator v1.8.1, pkg/controller.v1/tensorflow/tensorflow.go genTFConfigJSONStr"
	tfSeen      = "printed by a pod of a TFJob under training-operator v1.8.1 on Kubernetes 1.34"
	ptOperator  = "training-operator v1.8.1, pkg/controller.v1/pytorch/envvar.go"
	pdOperator  = "training-operator v1.8.1, pkg/controller.v1/paddlepaddle/envvar.go, and printed by its pods"
	xgbOperator = "training-operator v1.8.1, pkg/controller.v1/xgboost/xgboost.go, and printed by its pods"
	trainer     = "trainer v2.0.0, pkg/runtime/framework/plugins"
	volcano     = "volcano v1.12.1, pkg/controllers/job/plugins"
	paddleOp    = "paddle-operator's source, controllers"
	kubernetes  = "printed by pods of Kubernetes 1.34"
	jobset      = "printed by a pod of a JobSet 0.8.2 on Kubernetes 1.34"
	lws         = "lws v0.7.0, pkg/utils/pod/pod_utils.go AddLWSVariables"
	tony        = "TonY, Constants.java: CLUSTER_SPEC, JOB_NAME, TASK_INDEX"
	slurmSeen   = "Slurm 22.05, srun's manual and runs of it"
	byHand      = "a user's yaml"
)

func tfTask(cluster, kind, index string) string {
	return cluster + `,"task":{"type":"` + kind + `","index":` + index + `},"environment":"cloud"}`
}

// operated is what paddle-operator gives all pods of a job with two servers and two workers, and join adds to an environment.
func operated() vars {
	return vars{"PADDLE_PORT": "2379", "TRAINER_PORTS_NUM": "20", "PADDLE_TRAINERS_NUM": "2", "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.5:2379,10.0.0.6:2379",
		"PADDLE_TRAINER_ENDPOINTS": "10.0.0.7:2379,10.0.0.8:2379", "PADDLE_TRAINERS": "10.0.0.7,10.0.0.8"}
}

func (v vars) join(more vars) vars {
	all := maps.Clone(v)
	maps.Copy(all, more)
	return all
}

var (
	volcanoHosts = vars{"VC_PS_HOSTS": "wd-ps-0.wd,wd-ps-1.wd", "VC_PS_NUM": "2", "VC_WORKER_HOSTS": "wd-worker-0.wd,wd-worker-1.wd", "VC_WORKER_NUM": "2"}
	byHandPaddle = vars{"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "1", "PADDLE_TRAINERS_NUM": "2",
		"PADDLE_PSERVERS_IP_PORT_LIST": "wd-ps-0.wd:36000,wd-ps-1.wd:36000"}
	plainWords = vars{"FLEET_SERVERS": "ps-{0..1}.ps:36000", "FLEET_WORKERS": "2"}
	byHandTwo  = " of 2, servers wd-ps-0.wd:36000,wd-ps-1.wd:36000"
)

// clusters are the environments that clusters give a process, what they make of it, or what the refusal says.
var clusters = []struct {
	name, source string
	env          vars
	is, refused  string
	note         string
}{
	{name: "TFJob, ps 1", source: tfOperator, env: vars{"TF_CONFIG": tfTask(twoByTwo, "ps", "1")}, is: "server 1 of 2 at wd-ps-1.ns.svc:2222, 2 workers"},
	{name: "TFJob, worker 0", source: tfOperator, env: vars{"TF_CONFIG": tfTask(twoByTwo, "worker", "0")},
		is: "worker 0 of 2, servers wd-ps-0.ns.svc:2222,wd-ps-1.ns.svc:2222"},
	{name: "TFJob, chief", source: tfSeen, env: vars{"TF_CONFIG": tfTask(withAll, "chief", "0"), "HOSTNAME": "chf-chief-0"},
		is: "worker 0 of 2, servers chf-ps-0.default.svc:2222"},
	{name: "TFJob, worker 0 behind a chief", source: tfSeen, env: vars{"TF_CONFIG": tfTask(withAll, "worker", "0"), "HOSTNAME": "chf-worker-0"},
		is: "worker 1 of 2, servers chf-ps-0.default.svc:2222"},
	{name: "TFJob, evaluator", source: tfSeen, env: vars{"TF_CONFIG": tfTask(withAll, "evaluator", "0")}, refused: `type "evaluator", which takes no part`},
	{name: "TFJob, evaluator that is not in the cluster", source: tfOperator, env: vars{"TF_CONFIG": tfTask(twoByTwo, "evaluator", "0")},
		refused: `type "evaluator", which takes no part`},
	{name: "TFJob of one worker", source: tfOperator, env: vars{"TF_CONFIG": tfTask(`{"cluster":{"worker":["wd-worker-0.ns.svc:2222"]}`, "worker", "0")},
		is: "worker 0 of 1, alone"},
	{name: "TFJob of one replica", source: tfSeen, env: vars{"HOSTNAME": "one-worker-0"}, is: "worker 0 of 1, alone"},
	{name: "TFJob without servers", source: tfOperator, env: vars{"TF_CONFIG": tfTask(`{"cluster":{"worker":["a:2222","b:2222"]}`, "worker", "1")},
		is: "worker 1 of 2, collective: a:2222,b:2222"},
	{name: "TFJob, older master", source: tfOperator, env: vars{"TF_CONFIG": tfTask(`{"cluster":{"master":["a:1"],"ps":["p:1"]}`, "master", "0")},
		is: "worker 0 of 1, servers p:1"},
	{name: "TFJob, sparse", source: tfOperator, env: vars{"TF_CONFIG": `{"sparseCluster":{"worker":{"0":"wd-worker-0.ns.svc:2222"},"ps":["wd-ps-0.ns.svc:2222"]},` +
		`"task":{"type":"worker","index":0}}`}, refused: "enableDynamicWorker"},
	{name: "TFJob, dynamic ps", source: tfSeen, env: vars{"TF_CONFIG": tfTask(`{"cluster":{"worker":{},"ps":["dyn-ps-1.default.svc:2222"]}`, "ps", "1")},
		refused: "enableDynamicWorker"},
	{name: "TFJob, dynamic worker", source: tfSeen, env: vars{"TF_CONFIG": tfTask(`{"cluster":{"worker":{"1":"dyn-worker-1.default.svc:2222"},`+
		`"ps":["dyn-ps-0.default.svc:2222","dyn-ps-1.default.svc:2222"]}`, "worker", "1")}, refused: "enableDynamicWorker"},
	{name: "TFJob, dynamic, with lists", source: tfSeen, env: vars{"TF_CONFIG": tfTask(`{"cluster":{"worker":{},"ps":["ps-1.ps:2222"]}`, "ps", "1")}.join(plainWords),
		is: "server 1 of 2 at ps-1.ps:36000, 2 workers"},
	{name: "TFJob, index behind the list", source: tfOperator, env: vars{"TF_CONFIG": tfTask(twoByTwo, "ps", "2")}, refused: "index of this server is 2; want 0 to 1"},
	{name: "TFJob, index of letters", source: tfOperator, env: vars{"TF_CONFIG": tfTask(twoByTwo, "ps", `"x"`)}, refused: "TF_CONFIG is "},
	{name: "TFJob, a task twice", source: tfOperator, env: vars{"TF_CONFIG": tfTask(`{"cluster":{"ps":["a:1"],"worker":["a:1"]}`, "ps", "0")}, refused: `"a:1" is there twice`},

	{name: "PaddleJob of Kubeflow, master", source: pdOperator, env: vars{"PYTHONUNBUFFERED": "0", "PADDLE_JOB_ID": "wd", "PADDLE_NNODES": "4",
		"PADDLE_MASTER": "10.0.0.5:36543", "PADDLE_SERVER_NUM": "1", "POD_IP_DUMMY": "10.0.0.5", "HOSTNAME": "wd-master-0"},
		refused: "this is server 0: 4 processes meet at 10.0.0.5:36543"},
	{name: "PaddleJob of Kubeflow, worker", source: pdOperator, env: vars{"PADDLE_JOB_ID": "wd", "PADDLE_NNODES": "4", "PADDLE_MASTER": "wd-master-0:36543",
		"PADDLE_TRAINER_NUM": "1", "HOSTNAME": "wd-worker-1"}, refused: "this is worker 1: 4 processes meet at wd-master-0:36543"},
	{name: "PaddleJob of Kubeflow, collective", source: pdOperator, env: vars{"PADDLE_JOB_ID": "wd", "PADDLE_NNODES": "2", "PADDLE_MASTER": "wd-worker-0:36543",
		"HOSTNAME": "wd-worker-1"}, is: "worker 1 of 2, collective: ,"},
	{name: "PaddleJob of Kubeflow, one", source: pdOperator, env: vars{"PADDLE_JOB_ID": "wd", "PADDLE_NNODES": "1", "PADDLE_MASTER": "wd-worker-0:36543",
		"HOSTNAME": "wd-worker-0"}, is: "worker 0 of 1, alone"},
	{name: "PaddleJob of Kubeflow, on the host's network", source: pdOperator, env: vars{"PADDLE_NNODES": "4", "PADDLE_MASTER": "wd-master-0:36543",
		"PADDLE_TRAINER_NUM": "1", "HOSTNAME": "machine"}, refused: `HOSTNAME is "machine", which does not end in this process's number: set FLEET_INDEX`},
	{name: "PaddleJob of Kubeflow, two roles", source: pdOperator, env: vars{"PADDLE_NNODES": "4", "PADDLE_MASTER": "m:1", "PADDLE_TRAINER_NUM": "1",
		"PADDLE_SERVER_NUM": "1", "HOSTNAME": "wd-1"}, refused: "PADDLE_SERVER_NUM and PADDLE_TRAINER_NUM are both set"},
	{name: "PaddleJob of Kubeflow, number too large", source: pdOperator, env: vars{"PADDLE_NNODES": "2", "PADDLE_MASTER": "m:1", "PADDLE_SERVER_NUM": "1",
		"HOSTNAME": "wd-2"}, refused: "this is server 2, but the job has 2 processes"},

	{name: "PyTorchJob, rank 1", source: ptOperator, env: vars{"MASTER_ADDR": "wd-master-0", "MASTER_PORT": "23456", "WORLD_SIZE": "4", "RANK": "1",
		"PET_MASTER_ADDR": "wd-master-0", "PET_MASTER_PORT": "23456", "PET_NNODES": "4", "PET_NODE_RANK": "1", "PET_NPROC_PER_NODE": "1"}, is: "worker 1 of 4, collective: ,,,"},
	{name: "PyTorchJob, with a server", source: ptOperator, env: vars{"MASTER_ADDR": "wd-master-0", "MASTER_PORT": "23456", "WORLD_SIZE": "4", "RANK": "1",
		"FLEET_SERVERS": "1"}, is: "worker 0 of 3, servers "},
	{name: "PyTorchJob, that server", source: ptOperator, env: vars{"MASTER_ADDR": "localhost", "MASTER_PORT": "23456", "WORLD_SIZE": "4", "RANK": "0",
		"FLEET_SERVERS": "1"}, is: "server 0 of 1 at , 3 workers"},
	{name: "PyTorchJob, servers alone", source: ptOperator, env: vars{"MASTER_ADDR": "m", "WORLD_SIZE": "4", "RANK": "0", "FLEET_SERVERS": "4"},
		refused: "FLEET_SERVERS is 4, but WORLD_SIZE is 4: at least one must train"},
	{name: "PyTorchJob, elastic", source: ptOperator, env: vars{"PET_RDZV_ENDPOINT": "wd-worker-0:23456", "PET_RDZV_BACKEND": "c10d", "PET_NNODES": "1:4",
		"PET_RDZV_ID": "wd"}, refused: "PET_NNODES is 1:4: an operator for PyTorch started this process as one of several"},
	{name: "XGBoostJob", source: xgbOperator, env: vars{"MASTER_ADDR": "wd-master-0", "MASTER_PORT": "9999", "WORLD_SIZE": "3", "RANK": "1", "WORKER_PORT": "9999",
		"WORKER_ADDRS": "wd-worker-0,wd-worker-1"}, is: "worker 1 of 3, collective: ,,"},
	{name: "JAXJob", source: "training-operator, pkg/controller.v1/jax/envvar.go", env: vars{"COORDINATOR_PORT": "6666", "COORDINATOR_ADDRESS": "wd-worker-0",
		"NUM_PROCESSES": "4", "PROCESS_ID": "1"}, is: "worker 1 of 4, collective: ,,,"},
	{name: "MPIJob, a worker's shell", source: "training-operator v1.8.1, pkg/controller.v1/mpi", env: vars{"K_MPI_JOB_ROLE": "worker"}, refused: "K_MPI_JOB_ROLE is worker: an MPIJob"},
	{name: "MPIJob, a rank", source: "training-operator v1.8.1, pkg/controller.v1/mpi", env: openMPI(2, 4).with("K_MPI_JOB_ROLE", "worker"), is: "server 1 of 2 at , 2 workers"},
	{name: "Trainer v2, torch", source: trainer, env: vars{"PET_NNODES": "2", "PET_NPROC_PER_NODE": "1", "PET_NODE_RANK": "1", "PET_MASTER_ADDR": "wd-node-0-0.wd",
		"PET_MASTER_PORT": "29400", "JOB_COMPLETION_INDEX": "1"}, is: "worker 1 of 2, collective: ,"},
	{name: "Trainer v2, plainml", source: trainer, env: vars{"JOB_COMPLETION_INDEX": "1", "HOSTNAME": "wd-node-0-1"}, is: "worker 0 of 1, alone",
		note: "pod wd-node-0-1 has JOB_COMPLETION_INDEX=1 and trains alone; FLEET_SERVERS makes it one of several"},

	{name: "Volcano, ps 1", source: volcano, env: volcanoHosts.join(vars{"VC_TASK_INDEX": "1", "VK_TASK_INDEX": "1", "HOSTNAME": "wd-ps-1"}),
		is: "server 1 of 2 at wd-ps-1.wd:36000, 2 workers"},
	{name: "Volcano, svc alone", source: volcano, env: volcanoHosts.join(vars{"HOSTNAME": "wd-worker-1"}), is: "worker 1" + byHandTwo},
	{name: "Volcano, another port", source: volcano, env: volcanoHosts.join(vars{"HOSTNAME": "wd-ps-0", "FLEET_PORT": "7000"}), is: "server 0 of 2 at wd-ps-0.wd:7000, 2 workers"},
	{name: "Volcano, a Service of the name fleet", source: volcano, env: volcanoHosts.join(vars{"HOSTNAME": "wd-ps-0", "FLEET_PORT": "tcp://10.96.0.5:36001"}),
		is: "server 0 of 2 at wd-ps-0.wd:36000, 2 workers"},
	{name: "Volcano, trainer behind a master", source: volcano, env: vars{"VC_SERVER_HOSTS": "j-server-0.j", "VC_MASTER_HOSTS": "j-master-0.j", "VC_TRAINER_HOSTS": "j-trainer-0.j",
		"VC_TASK_INDEX": "0", "HOSTNAME": "j-trainer-0"}, is: "worker 1 of 2, servers j-server-0.j:36000"},
	{name: "Volcano, without servers", source: volcano, env: vars{"VC_WORKER_HOSTS": "w-0.j,w-1.j", "HOSTNAME": "w-1"}, is: "worker 1 of 2, collective: w-0.j:36000,w-1.j:36000"},
	{name: "Volcano, another number", source: volcano, env: volcanoHosts.join(vars{"VC_TASK_INDEX": "0", "HOSTNAME": "wd-ps-1"}),
		refused: "VC_TASK_INDEX is 0, but HOSTNAME is wd-ps-1, which is number 1 of VC_PS_HOSTS is wd-ps-0.wd,wd-ps-1.wd"},
	{name: "Volcano, two numbers", source: volcano, env: volcanoHosts.join(vars{"VC_TASK_INDEX": "0", "VK_TASK_INDEX": "1", "HOSTNAME": "wd-ps-1"}), refused: "unset one"},
	{name: "Volcano, another task", source: volcano, env: volcanoHosts.join(vars{"VC_SCHEDULER_HOSTS": "wd-scheduler-0.wd", "HOSTNAME": "wd-scheduler-0"}),
		refused: "this host (HOSTNAME is wd-scheduler-0) is not one of the servers"},
	{name: "Volcano, env alone", source: volcano, env: vars{"VC_TASK_INDEX": "1", "VK_TASK_INDEX": "1", "HOSTNAME": "wd-worker-1"}, refused: "VC_TASK_INDEX is 1"},
	{name: "Volcano, env alone, number 0", source: volcano, env: vars{"VC_TASK_INDEX": "0", "VK_TASK_INDEX": "0", "HOSTNAME": "wd-worker-0"}, refused: "VC_TASK_INDEX is 0"},
	{name: "Volcano, env alone, and lists", source: volcano, env: vars{"VC_TASK_INDEX": "1", "FLEET_ROLE": "worker"}.join(plainWords), is: "worker 1 of 2, servers ps-0.ps:36000,ps-1.ps:36000"},
	{name: "Volcano, mpi", source: volcano, env: vars{"MPI_HOST": "wd-worker-0.wd,wd-worker-1.wd"}, refused: "MPI_HOST is wd-worker-0.wd,wd-worker-1.wd: Volcano's plugin mpi"},
	{name: "Volcano, pytorch", source: volcano, env: vars{"VC_MASTER_HOSTS": "m.j", "VC_WORKER_HOSTS": "w-0.j,w-1.j", "HOSTNAME": "w-0", "RANK": "1", "WORLD_SIZE": "3",
		"MASTER_ADDR": "m.j", "MASTER_PORT": "23456"}, is: "worker 1 of 3, collective: m.j:36000,w-0.j:36000,w-1.j:36000"},
	{name: "Volcano, tensorflow", source: volcano, env: volcanoHosts.join(vars{"HOSTNAME": "wd-ps-1", "TF_CONFIG": tfTask(twoByTwo, "ps", "1")}),
		is: "server 1 of 2 at wd-ps-1.ns.svc:2222, 2 workers"},

	{name: "paddle-operator, PodIP, ps 1", source: paddleOp, env: operated().with("POD_IP", "10.0.0.6", "PADDLE_TRAINER_ID", "1", "TRAINING_ROLE", "PSERVER",
		"PADDLE_TRAINING_ROLE", "PSERVER"), is: "server 1 of 2 at 10.0.0.6:2379, 2 workers"},
	{name: "paddle-operator, PodIP, worker 1", source: paddleOp, env: operated().with("POD_IP", "10.0.0.8", "PADDLE_TRAINER_ID", "1", "TRAINING_ROLE", "TRAINER",
		"PADDLE_TRAINING_ROLE", "TRAINER"), is: "worker 1 of 2, servers 10.0.0.5:2379,10.0.0.6:2379"},
	{name: "paddle-operator, Service, ps 1", source: paddleOp, env: operated().with("POD_IP", "wd-ps-1", "PADDLE_TRAINER_ID", "1", "TRAINING_ROLE", "PSERVER",
		"PADDLE_PSERVERS_IP_PORT_LIST", "wd-ps-0:2379,wd-ps-1:2379"), is: "server 1 of 2 at wd-ps-1:2379, 2 workers"},
	{name: "paddle-operator, Host, ps 1", source: paddleOp, env: operated().with("POD_IP", "10.0.0.6", "PADDLE_TRAINER_ID", "1", "TRAINING_ROLE", "PSERVER",
		"PADDLE_PORT", "35040"), is: "server 1 of 2 at 10.0.0.6:2379, 2 workers"},
	{name: "paddle-operator, Host, another machine", source: paddleOp, env: operated().with("POD_IP", "10.0.0.9", "PADDLE_TRAINER_ID", "1", "TRAINING_ROLE", "PSERVER",
		"PADDLE_PORT", "35040"), refused: "10.0.0.9:35040 is not one of the servers"},
	{name: "paddle-operator, Host, both on one machine", source: paddleOp, env: operated().with("POD_IP", "10.0.0.5", "PADDLE_TRAINER_ID", "1", "TRAINING_ROLE", "PSERVER",
		"PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.5:2379,10.0.0.5:2379"), refused: "is there twice"},
	{name: "paddle-operator, heter", source: paddleOp, env: operated().with("TRAINING_ROLE", "HETER", "PADDLE_TRAINER_ID", "0"), refused: `"HETER"; it can be PSERVER or TRAINER`},
	{name: "paddle-operator, collective", source: paddleOp, env: operated().with("PADDLE_PSERVERS_IP_PORT_LIST", "", "POD_IP", "10.0.0.8", "PADDLE_TRAINER_ID", "1",
		"TRAINING_ROLE", "TRAINER", "PADDLE_TRAINING_ROLE", "TRAINER"), is: "worker 1 of 2, collective: 10.0.0.7:2379,10.0.0.8:2379"},
	{name: "paddle-operator, single", source: paddleOp, env: vars{"POD_IP": "10.0.0.8", "PADDLE_TRAINER_ID": "0", "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINING_ROLE": "TRAINER",
		"PADDLE_PORT": "2379", "PADDLE_TRAINERS_NUM": "1", "PADDLE_TRAINER_ENDPOINTS": "10.0.0.8:2379", "PADDLE_TRAINERS": "10.0.0.8"}, is: "worker 0 of 1, alone"},
	{name: "paddle-operator, elastic", source: paddleOp, env: vars{"POD_IP": "10.0.0.8", "PADDLE_TRAINER_ID": "0", "TRAINING_ROLE": "TRAINER", "PADDLE_ELASTIC_SERVER": "etcd:2379",
		"PADDLE_ELASTIC_JOB_ID": "ns-wd", "PADDLE_ELASTIC_NP": "2", "PADDLE_ELASTIC_TIMEOUT": "60"}, refused: "PADDLE_ELASTIC_JOB_ID is ns-wd, but PADDLE_PSERVERS_IP_PORT_LIST is not set"},
	{name: "a Service of the name paddle", source: kubernetes, env: byHandServer().with("PADDLE_PORT", "tcp://10.96.0.5:36000"),
		refused: "PADDLE_PORT is tcp://10.96.0.5:36000, as Kubernetes has it for a Service of the name paddle: enableServiceLinks: false"},
	{name: "a Service of the name paddle, a number", source: kubernetes, env: byHandServer().with("PADDLE_PORT", "tcp://10.96.0.5:36000", "PADDLE_PSERVER_ID", "1"),
		is: "server 1 of 2 at 10.89.176.12:36000, 2 workers"},

	{name: "Indexed Job", source: kubernetes, env: vars{"JOB_COMPLETION_INDEX": "1", "HOSTNAME": "wd-1"}, is: "worker 0 of 1, alone",
		note: "pod wd-1 has JOB_COMPLETION_INDEX=1 and trains alone; FLEET_SERVERS makes it one of several"},
	{name: "Indexed Job, server", source: kubernetes, env: plainWords.join(vars{"JOB_COMPLETION_INDEX": "1", "HOSTNAME": "ps-1", "FLEET_ROLE": "server"}),
		is: "server 1 of 2 at ps-1.ps:36000, 2 workers"},
	{name: "Indexed Job, worker", source: kubernetes, env: plainWords.join(vars{"JOB_COMPLETION_INDEX": "1", "HOSTNAME": "wd-worker-1", "FLEET_ROLE": "worker"}),
		is: "worker 1 of 2, servers ps-0.ps:36000,ps-1.ps:36000"},
	{name: "Indexed Job, another name", source: kubernetes, env: plainWords.join(vars{"JOB_COMPLETION_INDEX": "1", "HOSTNAME": "wd-0", "FLEET_ROLE": "worker"}),
		refused: "JOB_COMPLETION_INDEX is 1, but HOSTNAME is wd-0: FLEET_INDEX says which is right"},
	{name: "one Indexed Job for both roles", source: kubernetes, env: vars{"FLEET_SERVERS": "wd-{0..1}.wd", "FLEET_WORKERS": "wd-{2..4}.wd", "JOB_COMPLETION_INDEX": "3",
		"HOSTNAME": "wd-3"}, is: "worker 1 of 3, servers wd-0.wd:36000,wd-1.wd:36000"},
	{name: "StatefulSet", source: kubernetes, env: vars{"HOSTNAME": "ps-1"}, is: "worker 0 of 1, alone"},
	{name: "StatefulSet, server by its name", source: kubernetes, env: plainWords.join(vars{"HOSTNAME": "ps-1"}), is: "server 1 of 2 at ps-1.ps:36000, 2 workers"},
	{name: "StatefulSet, label", source: kubernetes, env: plainWords.join(vars{"HOSTNAME": "other-7", "FLEET_INDEX": "1", "FLEET_ROLE": "server"}),
		is: "server 1 of 2 at ps-1.ps:36000, 2 workers"},
	{name: "StatefulSet, FQDN as its name", source: kubernetes, env: plainWords.join(vars{"HOSTNAME": "ps-1.ps.ns.svc.cluster.local"}), is: "server 1 of 2 at ps-1.ps:36000, 2 workers"},
	{name: "JobSet", source: jobset, env: vars{"JOB_COMPLETION_INDEX": "1", "HOSTNAME": "wd-workers-0-1", "JOBSET_NAME": "wd"}, is: "worker 0 of 1, alone",
		note: "pod wd-workers-0-1 has JOB_COMPLETION_INDEX=1 and trains alone"},
	{name: "JobSet, by name", source: jobset, env: vars{"FLEET_SERVERS": "js-ps-0-{0..1}.js", "FLEET_WORKERS": "2", "JOB_COMPLETION_INDEX": "1", "HOSTNAME": "js-ps-0-1"},
		is: "server 1 of 2 at js-ps-0-1.js:36000, 2 workers"},
	{name: "LeaderWorkerSet", source: lws, env: vars{"LWS_LEADER_ADDRESS": "wd-0.wd.ns", "LWS_GROUP_SIZE": "3", "LWS_WORKER_INDEX": "1"}, is: "worker 1 of 3, collective: ,,"},
	{name: "LeaderWorkerSet of one", source: lws, env: vars{"LWS_LEADER_ADDRESS": "wd-0.wd.ns", "LWS_GROUP_SIZE": "1", "LWS_WORKER_INDEX": "0"}, is: "worker 0 of 1, alone"},

	{name: "Slurm, srun", source: slurmSeen, env: slurm(3, 4), is: "worker 1 of 2, servers ,"},
	{name: "Slurm, one server", source: slurmSeen, env: slurm(3, 5).with("FLEET_SERVERS", "1"), is: "worker 2 of 4, servers "},
	{name: "Slurm, no server", source: slurmSeen, env: slurm(3, 5).with("FLEET_SERVERS", "0"), is: "worker 3 of 5, collective: ,,,,"},
	{name: "Slurm, sbatch's script", source: slurmSeen, env: slurm(0, 4).with("SLURM_STEP_ID", ""), is: "worker 0 of 1, alone"},
	{name: "Slurm, array", source: slurmSeen, env: vars{"SLURM_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8"}, is: "worker 0 of 1, alone"},
	{name: "Slurm, heterogeneous", source: slurmSeen, env: slurm(1, 2).with("SLURM_HET_SIZE", "2", "SLURM_STEP_NUM_TASKS", "2"), is: "worker 0 of 1, servers "},
	{name: "Open MPI", source: "printed by ranks of Open MPI 4.1.4", env: openMPI(2, 4), is: "server 1 of 2 at , 2 workers"},
	{name: "Ray", source: "ray 2.60, a task's environment", env: vars{"RAY_ADDRESS": "10.0.0.1:6379", "RAY_JOB_ID": "01000000"}, is: "worker 0 of 1, alone"},
	{name: "Nomad", source: "Nomad's documentation, runtime environment", env: vars{"NOMAD_ALLOC_INDEX": "1", "NOMAD_GROUP_NAME": "workers"}, is: "worker 0 of 1, alone"},
	{name: "Cloud Run", source: "Cloud Run's documentation, jobs", env: vars{"CLOUD_RUN_TASK_INDEX": "1", "CLOUD_RUN_TASK_COUNT": "4"}, is: "worker 0 of 1, alone"},
	{name: "TonY, ps 1", source: tony, env: tonyTask("ps", "1"), is: "server 1 of 2 at b:2222, 2 workers"},
	{name: "TonY, worker 1", source: tony, env: tonyTask("worker", "1"), is: "worker 1 of 2, servers a:2222,b:2222"},
	{name: "TonY, without servers", source: tony, env: vars{"CLUSTER_SPEC": `{"worker":["c:1","d:1"]}`, "JOB_NAME": "worker", "TASK_INDEX": "1"},
		is: "worker 1 of 2, collective: c:1,d:1"},
	{name: "TonY, one worker", source: tony, env: vars{"CLUSTER_SPEC": `{"worker":["c:1"]}`, "JOB_NAME": "worker", "TASK_INDEX": "0"}, is: "worker 0 of 1, alone"},
	{name: "TonY, without a task", source: tony, env: tonyTask("", ""), refused: "CLUSTER_SPEC: it lists several tasks"},
	{name: "TonY, evaluator", source: tony, env: tonyTask("evaluator", "0"), refused: `CLUSTER_SPEC has a task of type "evaluator"`},
	{name: "TonY, another index", source: tony, env: tonyTask("worker", "x"), refused: `CLUSTER_SPEC has a task of index "x"`},
	{name: "TonY beside TF_CONFIG", source: tony, env: tonyTask("ps", "0").join(vars{"TF_CONFIG": `{"cluster":` + tonyTask("", "")["CLUSTER_SPEC"] +
		`,"task":{"type":"ps","index":0}}`}), is: "server 0 of 2 at a:2222, 2 workers"},
	{name: "TonY beside another TF_CONFIG", source: tony, env: tonyTask("ps", "0").join(vars{"TF_CONFIG": `{"cluster":` + tonyTask("", "")["CLUSTER_SPEC"] +
		`,"task":{"type":"ps","index":1}}`}), refused: "unset those that are left over"},
	{name: "Vertex AI", source: "Vertex AI's documentation, CLUSTER_SPEC", env: vars{"CLUSTER_SPEC": `{"cluster":{"workerpool0":["a:2222"],"workerpool1":["b:2222"]},` +
		`"task":{"type":"workerpool1","index":0}}`}, refused: "CLUSTER_SPEC is "},
	{name: "Vertex AI, one machine", source: "Vertex AI's documentation, CLUSTER_SPEC", env: vars{"CLUSTER_SPEC": `{"cluster":{"workerpool0":["a:2222"]}}`}, is: "worker 0 of 1, alone"},
	{name: "Vertex AI, not JSON", source: "Vertex AI's documentation, CLUSTER_SPEC", env: vars{"CLUSTER_SPEC": `pools`}, refused: "CLUSTER_SPEC is pools"},
	{name: "Azure Batch", source: "Azure Batch's documentation", env: vars{"AZ_BATCH_NODE_LIST": "10.0.0.4;10.0.0.5", "AZ_BATCH_MASTER_NODE": "10.0.0.4:6000"}, is: "worker 0 of 1, alone"},
	{name: "LSF", source: "LSF's documentation", env: vars{"LSB_JOBID": "5", "LSB_HOSTS": "a b", "LSB_MCPU_HOSTS": "a 1 b 1"}, is: "worker 0 of 1, alone"},
	{name: "PBS", source: "PBS's documentation", env: vars{"PBS_JOBID": "5", "PBS_NODEFILE": "/var/x", "PBS_TASKNUM": "2"}, is: "worker 0 of 1, alone"},

	// Mixtures.
	{name: "Volcano beside PADDLE", source: byHand, env: volcanoHosts.join(byHandPaddle).with("VC_TASK_INDEX", "1"), is: "worker 1" + byHandTwo},
	{name: "Volcano beside PADDLE, another host", source: byHand, env: volcanoHosts.join(byHandPaddle).with("HOSTNAME", "wd-ps-1"),
		refused: "PaddleCloud says worker 1 of 2, 2 servers (TRAINING_ROLE is TRAINER"},
	{name: "Volcano beside PADDLE, more servers", source: byHand, env: volcanoHosts.join(byHandPaddle).with("VC_PS_HOSTS", "a,b,c"), refused: "but Volcano says number"},
	{name: "TF_CONFIG beside PADDLE, agrees", source: byHand, env: byHandPaddle.with("TF_CONFIG", tfTask(twoByTwo, "worker", "1")), is: "worker 1" + byHandTwo},
	{name: "TF_CONFIG beside PADDLE, another role", source: byHand, env: byHandPaddle.with("TF_CONFIG", tfTask(twoByTwo, "ps", "1")),
		refused: "but TFConfig says server 1 of 2, 2 workers (TF_CONFIG is {"},
	{name: "TF_CONFIG beside PADDLE, another number", source: byHand, env: byHandPaddle.with("TF_CONFIG", tfTask(twoByTwo, "worker", "0")), refused: "but TFConfig says worker 0 of 2"},
	{name: "TF_CONFIG beside PADDLE, other counts", source: byHand, env: byHandPaddle.with("TF_CONFIG", tfTask(withAll, "worker", "0")), refused: "but TFConfig says worker 1 of 2, 1 servers"},
	{name: "TF_CONFIG beside PADDLE, an evaluator", source: byHand, env: byHandPaddle.with("TF_CONFIG", tfTask(withAll, "evaluator", "0")), refused: "a process that does not train"},
	{name: "TF_CONFIG beside PADDLE, dynamic", source: byHand, env: byHandPaddle.with("TF_CONFIG", tfTask(`{"cluster":{"worker":{}}`, "worker", "1")), is: "worker 1" + byHandTwo},
	{name: "TF_CONFIG beside FLEET_ROLE", source: byHand, env: vars{"TF_CONFIG": tfTask(twoByTwo, "ps", "1"), "FLEET_ROLE": "worker", "FLEET_INDEX": "0"},
		is: "worker 0 of 2, servers wd-ps-0.ns.svc:2222,wd-ps-1.ns.svc:2222", note: "FLEET_ROLE is worker, FLEET_INDEX is 0: they win over TFConfig, which says server 1 of 2"},
	{name: "TF_CONFIG beside FLEET_ROLE, no number", source: byHand, env: vars{"TF_CONFIG": tfTask(twoByTwo, "ps", "1"), "FLEET_ROLE": "worker"}, refused: "FLEET_INDEX is not set"},
	{name: "TF_CONFIG beside FLEET_INDEX", source: byHand, env: vars{"TF_CONFIG": tfTask(twoByTwo, "ps", "1"), "FLEET_INDEX": "0"},
		is: "server 0 of 2 at wd-ps-0.ns.svc:2222, 2 workers", note: "they win over TFConfig"},
	{name: "TF_CONFIG beside other FLEET_SERVERS", source: byHand, env: vars{"TF_CONFIG": tfTask(twoByTwo, "ps", "1"), "FLEET_SERVERS": "a:1,b:1,c:1"}, refused: "but TFConfig says server 1 of 2"},
	{name: "all of FLEET beside what nobody reads", source: byHand, env: plainWords.join(vars{"FLEET_ROLE": "server", "FLEET_INDEX": "0", "DMLC_ROLE": "worker",
		"PADDLE_ELASTIC_JOB_ID": "ns-wd", "CLUSTER_SPEC": "pools"}), is: "server 0 of 2 at ps-0.ps:36000, 2 workers"},
	{name: "FLEET_INDEX beside PADDLE without a number", source: byHand, env: byHandPaddle.with("PADDLE_TRAINER_ID", "", "FLEET_INDEX", "0"), is: "worker 0" + byHandTwo},
	{name: "ranks beside PADDLE with servers", source: byHand, env: byHandPaddle.with("RANK", "3", "WORLD_SIZE", "4", "MASTER_ADDR", "m"), is: "worker 1" + byHandTwo},
	{name: "ranks beside a collective job", source: byHand, env: collectiveWorker().with("RANK", "0", "WORLD_SIZE", "2", "MASTER_ADDR", "m"),
		refused: "Collective says worker 1 of 2, without servers"},
	{name: "one rank beside PADDLE", source: byHand, env: byHandPaddle.with("RANK", "0", "WORLD_SIZE", "1"), is: "worker 1" + byHandTwo},
	{name: "ranks of two launchers", source: byHand, env: openMPI(1, 4).with("RANK", "3", "WORLD_SIZE", "4", "MASTER_ADDR", "m"), refused: "MPISymmetric says worker 0 of 2, 2 servers (OMPI"},
	{name: "ranks of two launchers, agreed", source: byHand, env: openMPI(1, 4).with("RANK", "1", "WORLD_SIZE", "4", "MASTER_ADDR", "m"), is: "worker 0 of 2, servers ,"},

	{name: "all of FLEET under mpirun", source: byHand, env: openMPI(0, 3).join(plainWords).with("FLEET_ROLE", "worker", "FLEET_INDEX", "1"),
		is: "worker 1 of 2, servers ps-0.ps:36000,ps-1.ps:36000"},
	{name: "servers listed under mpirun", source: byHand, env: openMPI(2, 4).join(plainWords), is: "worker 0 of 2, servers ps-0.ps:36000,ps-1.ps:36000"},
	{name: "servers listed under torchrun, other counts", source: byHand, env: plainWords.with("RANK", "1", "WORLD_SIZE", "9", "MASTER_ADDR", "m"),
		refused: "FLEET_WORKERS is 2, but WORLD_SIZE is 9: set FLEET_WORKERS to that"},

	{name: "FLEET_ROLE beside ranks that meet nowhere", source: byHand, env: vars{"FLEET_ROLE": "worker", "RANK": "1", "WORLD_SIZE": "2"}, refused: "set FLEET_RENDEZVOUS"},
	{name: "FLEET_ROLE beside an odd number of ranks", source: byHand, env: openMPI(0, 3).with("FLEET_ROLE", "worker", "FLEET_INDEX", "0"), refused: "is 3, which is odd"},

	{name: "by hand, no role", source: byHand, env: plainWords.with("FLEET_INDEX", "1"), refused: "FLEET_ROLE is not set; it is server or worker"},
	{name: "by hand, no number", source: byHand, env: plainWords.with("FLEET_ROLE", "worker", "HOSTNAME", "laptop"), refused: "FLEET_INDEX is not set; it is this worker's number"},
	{name: "by hand, no workers", source: byHand, env: plainWords.with("FLEET_ROLE", "server", "FLEET_INDEX", "0", "FLEET_WORKERS", ""), refused: "FLEET_WORKERS is not set"},
	{name: "by hand, no servers", source: byHand, env: vars{"FLEET_ROLE": "worker", "FLEET_INDEX": "0", "FLEET_WORKERS": "2"}, refused: "FLEET_SERVERS is not set; it lists all servers"},
	{name: "by hand, servers counted", source: byHand, env: vars{"FLEET_ROLE": "worker", "FLEET_INDEX": "0", "FLEET_WORKERS": "2", "FLEET_SERVERS": "3"},
		refused: "FLEET_SERVERS is 3, but nothing says where they are: list them, as in ps-{0..2}.ps:36000"},
	{name: "by hand, number too large", source: byHand, env: plainWords.with("FLEET_ROLE", "server", "FLEET_INDEX", "2"), refused: "index of this server is 2; want 0 to 1"},
	{name: "by hand, number below 0", source: byHand, env: plainWords.with("FLEET_ROLE", "server", "FLEET_INDEX", "-1"), refused: "FLEET_INDEX is -1; numbers are from 0"},
	{name: "by hand, another role", source: byHand, env: plainWords.with("FLEET_ROLE", "PSERVER"), refused: `FLEET_ROLE is "PSERVER"; it can be server or worker`},
	{name: "by hand, one worker", source: byHand, env: vars{"FLEET_WORKERS": "1"}, is: "worker 0 of 1, alone"},
	{name: "by hand, without servers", source: byHand, env: vars{"FLEET_WORKERS": "w-{0..1}.w:6170", "HOSTNAME": "w-1"}, is: "worker 1 of 2, collective: w-0.w:6170,w-1.w:6170"},
	{name: "by hand, IPv6", source: byHand, env: vars{"FLEET_SERVERS": "[fd00::1{1..2}]:36000,fd00::20", "FLEET_WORKERS": "1", "POD_IP": "fd00:0::12"},
		is: "server 1 of 3 at [fd00::12]:36000, 1 workers"},
	{name: "by hand, IPv6 in brackets", source: byHand, env: vars{"FLEET_SERVERS": "[fd00::1]:36000,[fd00::2]:36000", "FLEET_WORKERS": "2", "FLEET_ADVERTISE": "[fd00::2]"},
		is: "server 1 of 2 at [fd00::2]:36000, 2 workers"},
	{name: "by hand, behind a service's address", source: byHand, env: vars{"FLEET_SERVERS": "10.96.0.7:36000,10.96.0.8:36000", "FLEET_WORKERS": "1", "FLEET_ADVERTISE": "10.96.0.8",
		"HOSTNAME": "ps-0", "POD_IP": "10.0.0.5"}, is: "server 1 of 2 at 10.96.0.8:36000, 1 workers"},
	{name: "by hand, one machine of both lists", source: byHand, env: vars{"FLEET_SERVERS": "10.0.0.5:1", "FLEET_WORKERS": "10.0.0.5:2", "POD_IP": "10.0.0.5"}, refused: "FLEET_ROLE is not set"},
}

// TestClusters plays each environment to FromEnvironment. A process of a job is never taken for one alone.
func TestClusters(t *testing.T) {
	for _, c := range clusters {
		t.Run(c.name, func(t *testing.T) {
			rm := rolemaker.FromEnvironment(c.env.get)
			id, err := rm.Identity()
			_, meets := rm.(resolver)
			if err == nil && !meets {
				err = id.Validate()
			}
			switch {
			case c.source == "" || (c.is == "") == (c.refused == ""):
				t.Errorf("the row has no source, or not one outcome: %+v", c)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("%v, error %v, want %q", id, err, c.refused)
			case c.is != "" && (err != nil || id.String() != c.is):
				t.Errorf("%v, error %v, want %q", id, err, c.is)
			}
			var notes []string
			if found, ok := rm.(interface{ Notes() []string }); ok {
				notes = found.Notes()
			}
			if all := strings.Join(notes, "\n"); !strings.Contains(all, c.note) || (all == "") != (c.note == "") {
				t.Errorf("notes %q, want %q", all, c.note)
			}
		})
	}
}

// tonyTask is what TonY sets for a task of two servers and two workers.
func tonyTask(name, index string) vars {
	return vars{"CLUSTER_SPEC": `{"ps":["a:2222","b:2222"],"worker":["c:2222","d:2222"]}`, "JOB_NAME": name, "TASK_INDEX": index}
}
