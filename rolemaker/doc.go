// Package rolemaker answers the first question of a process in a job: who am I? A [RoleMaker] tells whether the process
// is a worker or a server, which one of how many, and where the servers are: its [Identity].
//
//	id, err := rolemaker.Resolve(ctx, rolemaker.PaddleCloud{})
//	if id.IsServer() {
//		serve(id.Endpoint())
//	} else {
//		train(id.Index, id.Workers, id.Servers)
//	}
//
// These role makers are here, and a user's own is one method:
//
//   - [FromEnvironment] reads what the launcher or operator has set that started the process, whichever it is; its doc
//     has their order;
//   - [PaddleCloud], [Collective], [TFConfig], [Volcano] and [MPISymmetric] read the variables of one of them;
//   - [UserDefined] and [UserDefinedCollective] hold what the program says itself;
//   - [Local] is a process alone, worker 0 of 1 without servers.
//
// # In gofleet's own words
//
// Four variables are enough anywhere, and on Kubernetes the same four in every pod:
//
//	FLEET_SERVERS=ps-{0..3}.ps:36000    all servers; {0..3} is written out
//	FLEET_WORKERS=8                     how many workers, or a list of them
//	FLEET_ROLE=server                   or worker
//	FLEET_INDEX=2                       its number among those of its role
//
// A process that finds its name in a list (HOSTNAME, POD_IP, or FLEET_ADVERTISE, by which others call it) needs neither
// of the last two. A pod of an Indexed Job, a JobSet or a StatefulSet needs no FLEET_INDEX: JOB_COMPLETION_INDEX is
// one, and so is the end of its name. FLEET_WORKERS as a list, without FLEET_SERVERS, is a collective job. Where ranks
// meet (mpirun, srun, torchrun and their like), FLEET_SERVERS may be a number: as many ranks serve, from the first on.
// Where it is a list there, FLEET_WORKERS is the number of ranks, all of which train beside these servers, or of ranks
// that are left when the first serve.
//
// FLEET_ROLE and FLEET_INDEX win over whatever else the environment says, and the log says over whom.
//
// # How the environment is read
//
// A source reads what one launcher sets, and makes a claim: role, number, how many there are of each role, endpoints,
// as much of them as is said; or nothing; or an error. The first source that speaks is believed, and all others are
// held to it: a source that says less does not differ, two that differ are refused with the variables of both.
//
// A process trains alone where nothing says that it is one of several, or where the program says [Local]. Launchers
// that are seen and can't be read are refused with what to set. Numbers of independent tasks, such as
// JOB_COMPLETION_INDEX and SLURM_ARRAY_TASK_ID, say nothing: each task is a process of its own, and the log says so of
// a pod.
//
// # Two machines by hand
//
// A server needs the list of all servers, its own place in it, and the number of workers; a worker needs its number:
//
//	export PADDLE_PSERVERS_IP_PORT_LIST=10.89.176.11:36000,10.89.176.12:36000 PADDLE_TRAINERS_NUM=2
//	TRAINING_ROLE=PSERVER POD_IP=10.89.176.11 PADDLE_PORT=36000 ./train &
//	TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 ./train
//
// IPv6 addresses stand in brackets, [fd00::7]:36000. The list may have names. A pod that doesn't know its own in it is
// told its number, PADDLE_PSERVER_ID; a name that doesn't resolve yet is waited for, on the server too, until the
// strategy's StartTimeout. Behind the address of a service, NAT or a published port a server listens where FLEET_LISTEN
// says ("0.0.0.0", ":36000", "10.0.0.7:36000"; in a program transport.FastHTTP.ListenAddr), and the list has what
// others call.
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
// torchrun, PyTorch's and JAX's operators, a LeaderWorkerSet and Kubeflow's PaddleJob meet at the address that they are
// given. Processes meet once: a job of which one is started again is started again as a whole.
package rolemaker

// The files of this package, in reading order.
//
// Who a process is:
//
//	rolemaker.go    RoleMaker and Resolve
//	role.go         worker or server
//	identity.go     which of how many, and where the others are
//	local.go        a process alone
//	userdefined.go  what the program says
//	environment.go  sources, their order, and what comes of them together
//	claim.go        what one source says
//
// The sources:
//
//	env.go          a look-up
//	endpoint.go     lists of addresses
//	declared.go     gofleet's own words
//	pattern.go      {0..3}, written out
//	kubernetes.go   a pod's name and number
//	paddlecloud.go  jobs of PaddlePaddle with servers
//	collective.go   jobs of PaddlePaddle without
//	paddlejob.go    Kubeflow's, whose processes meet
//	tfconfig.go     TF_CONFIG
//	volcano.go      Volcano's lists of hosts
//	mpi.go          ranks of MPI and Slurm
//	launcher.go     rank and size, by launcher
//	ranks.go        ranks of others
//	stranger.go     what can't be read
//
// Processes that find each other (rolemaker/internal/rendezvous has how):
//
//	meeting.go  from a rank to an identity
