// Package rendezvous lets the ranks of a job exchange addresses once, so that each gets the endpoints at which the
// serving ranks will listen. Launchers such as mpirun and srun give a process its rank, but not the ports of the
// others.
//
//	endpoints, err := rendezvous.Meet(ctx, rendezvous.Process{Rank: 1, Size: 4, Job: "slurm.7.0", Where: "node0:29500"})
//
// Rank 0 listens; every other rank calls it, repeatedly until it gets through, sends the address at which it can be
// reached, and keeps the call open. When the last rank has called, rank 0 answers all calls with the list and closes
// them. A caller that does not belong to the meeting (another job, size or version, a rank that has called already) is
// refused without harm to the others; an error that concerns all, such as two processes of one rank or a rank that
// never calls, is the answer to all open calls.
//
// Under MPICH's and Intel MPI's process managers rank 0 is not called: each rank puts its endpoint into the manager's
// key-value space, waits at the manager's barrier, and gets the endpoints of the others.
//
// # Files, in reading order
//
//	process.go     one of the ranks
//	rendezvous.go  Meet
//	meeting.go     calling rank 0, and answering as rank 0
//	callers.go     the calls that rank 0 has received
//	message.go     the messages between them
//	place.go       where rank 0 listens: an address, a shared directory, a private one
//	owner_unix.go, owner_other.go  whether a directory is private
//	address.go     hosts and ports of this machine
//	pmi.go         the exchange through a process manager
package rendezvous
