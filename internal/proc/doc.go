// Package proc reads what Linux says in /proc and in control groups: the memory that this process may have, by which it
// can set the garbage collector's limit, and the processes of a job by their roles. On other systems there is neither.
//
//	memory.go     the limit of this process's group, of either version, as containers and pods have
//	collector.go  the garbage collector's limit
//	headroom.go   when it runs, by how much of the heap it has to look at
//	roles.go      the roles that a fleetrun has started
package proc
