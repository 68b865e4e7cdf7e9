// Package health answers probes of supervisors such as Kubernetes' kubelet: whether this process is alive, has begun,
// and is ready. It gives no other information, and its port accepts no data.
//
//	board.go    the state of this process's roles, and the answers that follow from it
//	listen.go   the port
package health
