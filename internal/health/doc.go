// Package health answers the probes of what starts and ends processes, as Kubernetes' kubelet: whether this process
// lives, whether it has begun, and whether it is ready. It says nothing else, to nobody, and its port takes no data.
//
//	board.go    what the roles of this process say of themselves, and what follows
//	listen.go   the port
package health
