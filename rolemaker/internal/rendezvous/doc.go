// Package rendezvous has the ranks of a job meet once, so that each learns at which endpoints those that serve will
// listen. Launchers such as mpirun and srun tell a process its rank and nothing of the others' ports.
//
//	endpoints, err := rendezvous.Meet(ctx, rendezvous.Process{Rank: 1, Size: 4, Job: "slurm.7.0", Where: "node0:29500"})
//
// Rank 0 opens the place; every other rank calls it there, again and again until it gets through, says where it can be
// reached, and stays on the line. When the last rank has called, rank 0 answers all with the list and everybody hangs
// up. Who does not belong to the meeting (another job, size or version, a rank that is there already) is refused
// without harm to the others; what goes wrong for all, such as two processes of one rank or a rank that never comes, is
// answered to all who are on the line.
//
// Under MPICH's and Intel MPI's process managers there is no rank 0 to call: each rank puts its endpoint into the
// manager's key-value space, waits at the manager's barrier, and gets what the others have put.
//
// # Files, in reading order
//
//	process.go     one of the ranks
//	rendezvous.go  Meet
//	meeting.go     calling rank 0, and being called
//	callers.go     what rank 0 knows of the others
//	message.go     the bytes between them
//	place.go       where rank 0 can be called: an address, a shared directory, a private one
//	owner_unix.go, owner_other.go  whether a directory is private
//	address.go     hosts and ports of this machine
//	pmi.go         the same through a process manager
package rendezvous
