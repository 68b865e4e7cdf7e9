// Package rolemaker determines the role of a process in a job. A [RoleMaker] returns its [Identity]: whether it is a
// worker or a server, its index, how many workers there are, and the addresses of the servers.
//
//	id, err := rolemaker.Resolve(ctx, rolemaker.PaddleCloud{})
//	if id.IsServer() {
//		serve(id.Endpoint())
//	} else {
//		train(id.Index, id.Workers, id.Servers)
//	}
//
// The package has these role makers; your own needs one method:
//
//   - [FromEnvironment] reads the variables of the launcher or operator that started the process; its documentation
//     lists them in order;
//   - [PaddleCloud], [Collective], [TFConfig], [Volcano] and [MPISymmetric] read the variables of one of them;
//   - [UserDefined] and [UserDefinedCollective] hold an identity that the program states itself;
//   - [Local] is a process alone, worker 0 of 1 without servers.
//
// # gofleet's own variables
//
// Four variables are enough anywhere, and on Kubernetes the same four in every pod:
//
//	FLEET_SERVERS=ps-{0..3}.ps:36000    all servers; {0..3} is written out
//	FLEET_WORKERS=8                     how many workers, or a list of them
//	FLEET_ROLE=server                   or worker
//	FLEET_INDEX=2                       its number among those of its role
//
// A process whose name is in a list (HOSTNAME, POD_IP, or FLEET_ADVERTISE, the address by which others call it) needs
// neither of the last two. A pod of an Indexed Job, a JobSet or a StatefulSet needs no FLEET_INDEX: its index is
// JOB_COMPLETION_INDEX, or the number at the end of its name. FLEET_WORKERS as a list, without FLEET_SERVERS, means a
// collective job. With launchers of ranks (mpirun, srun, torchrun and similar), FLEET_SERVERS may be a number: that
// many of the first ranks are servers. If it is a list there, FLEET_WORKERS is either the number of all ranks, which
// then all train with these servers, or the number of ranks left after the first ones serve.
//
// FLEET_ROLE and FLEET_INDEX take precedence over all other variables, and the log names the variables that they
// override.
//
// # How the environment is read
//
// A source reads the variables of one launcher and returns a claim, nothing, or an error. A claim has a role, an index,
// the numbers of workers and servers, and endpoints, as far as the variables say. The first source with a claim
// decides. Later sources must agree with it: a source may say less, but two sources that differ are refused with an
// error that names the variables of both.
//
// A process trains alone if no source says that it is one of several, or if the program uses [Local]. Launchers that
// are recognised but not supported are refused with an error that says what to set. Indices of independent tasks, such
// as JOB_COMPLETION_INDEX and SLURM_ARRAY_TASK_ID, are not enough: each task trains alone, and in a pod the log says
// so.
//
// # Two machines by hand
//
// A server needs the list of all servers, its own place in it, and the number of workers; a worker needs its number:
//
//	export PADDLE_PSERVERS_IP_PORT_LIST=10.89.176.11:36000,10.89.176.12:36000 PADDLE_TRAINERS_NUM=2
//	TRAINING_ROLE=PSERVER POD_IP=10.89.176.11 PADDLE_PORT=36000 ./train &
//	TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 ./train
//
// IPv6 addresses stand in brackets, [fd00::7]:36000. The list may have names. If a pod cannot recognise its own name in
// it, set its index, PADDLE_PSERVER_ID. A name that does not resolve yet is retried, on the server too, until the
// strategy's StartTimeout. Behind a service's address, NAT or a published port, put the address that others call in the
// list, and set FLEET_LISTEN to the address to listen at ("0.0.0.0", ":36000", "10.0.0.7:36000"; in a program
// transport.FastHTTP.ListenAddr).
//
// # MPI and Slurm
//
//	mpirun -n 4 ./train                                      # one machine: nothing else to say
//	export FLEET_RENDEZVOUS=node0:29500                      # several: where rank 0 can be called
//	export FLEET_RENDEZVOUS=file:///shared/dir               # or a directory that all see, one for each job
//	mpirun -x FLEET_RENDEZVOUS -n 8 --hostfile hosts ./train
//
//	export FLEET_RENDEZVOUS=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1):29500
//	srun -n 8 ./train
//
// Under MPICH's and Intel's mpiexec no rendezvous is needed: their process manager carries the endpoints. Ranks of
// torchrun, PyTorch's and JAX's operators, a LeaderWorkerSet and Kubeflow's PaddleJob meet at the address that the
// launcher gives them. Processes meet only once, so if one of them is restarted, the whole job must be restarted.
package rolemaker

// The files of this package, in reading order.
//
// The identity of a process:
//
//	rolemaker.go    RoleMaker and Resolve
//	role.go         worker or server
//	identity.go     role, index, numbers and endpoints
//	local.go        a process alone
//	userdefined.go  an identity that the program states
//	environment.go  sources, their order, and the combined result
//	claim.go        the result of one source
//
// The sources:
//
//	env.go          looking up variables
//	endpoint.go     lists of addresses
//	declared.go     gofleet's own variables
//	pattern.go      {0..3}, written out
//	kubernetes.go   a pod's name and number
//	paddlecloud.go  jobs of PaddlePaddle with servers
//	collective.go   jobs of PaddlePaddle without servers
//	paddlejob.go    Kubeflow's PaddleJob, whose processes exchange addresses
//	tfconfig.go     TF_CONFIG
//	volcano.go      Volcano's lists of hosts
//	mpi.go          ranks of MPI and Slurm
//	launcher.go     rank and size, by launcher
//	ranks.go        ranks of other launchers
//	stranger.go     launchers that are recognised but not supported
//
// Processes that exchange addresses (by rolemaker/internal/rendezvous):
//
//	meeting.go  from a rank to an identity
