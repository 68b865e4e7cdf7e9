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
//   - [PaddleCloud] reads the environment variables that PaddlePaddle's launchers and operators set, and fleetrun too;
//     where none is set it is a process alone;
//   - [Collective] reads those of a job without servers, whose workers add gradients up among themselves;
//   - [UserDefined] and [UserDefinedCollective] hold what the program says itself;
//   - [MPISymmetric] reads rank and size from mpirun, mpiexec or srun: even ranks serve, odd ranks train;
//   - [Local] is a process alone, worker 0 of 1 without servers;
//   - [FromEnvironment] looks which of them the environment speaks of.
//
// # Never alone by mistake
//
// A process trains alone where nothing says that it is one of several, or where the program says [Local]. Launchers
// that no role maker reads (TF_CONFIG of TensorFlow's operators, VC_* of Volcano, RANK and WORLD_SIZE of torchrun,
// DMLC_* of ps-lite and their like) are seen, and refused with what to set. Numbers of independent tasks, such as
// JOB_COMPLETION_INDEX and SLURM_ARRAY_TASK_ID, say nothing: each task is a process of its own.
//
// # Two machines by hand
//
// A server needs the list of all servers, its own place in it, and the number of workers; a worker needs its number:
//
//	export PADDLE_PSERVERS_IP_PORT_LIST=10.89.176.11:36000,10.89.176.12:36000 PADDLE_TRAINERS_NUM=2
//	TRAINING_ROLE=PSERVER POD_IP=10.89.176.11 PADDLE_PORT=36000 ./train &
//	TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 ./train
//
// The list may have names. A pod that doesn't know its own in it is told its number, PADDLE_PSERVER_ID; a name that
// doesn't resolve yet is waited for, on the server too, until the strategy's StartTimeout. Behind the address of a
// service, NAT or a published port a server listens where FLEET_LISTEN says ("0.0.0.0", ":36000", "10.0.0.7:36000"; in
// a program transport.FastHTTP.ListenAddr), and the list has what others call.
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
// Under MPICH's and Intel's mpiexec no rendezvous is needed: their process manager carries the endpoints.
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
//	environment.go  what the environment speaks of
//	stranger.go     launchers that nobody here reads
//
// The variables of PaddlePaddle:
//
//	env.go          a look-up
//	paddlecloud.go  jobs with servers
//	collective.go   jobs without
//	endpoint.go     lists of addresses
//
// Ranks that find each other (rolemaker/internal/rendezvous has how):
//
//	mpi.go       MPISymmetric
//	launcher.go  rank and size, by launcher
