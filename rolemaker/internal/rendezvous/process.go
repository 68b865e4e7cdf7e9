package rendezvous

import "errors"

// Variable is the variable with the place where ranks meet.
const Variable = "FLEET_RENDEZVOUS"

// ErrNowhere means that ranks on several machines have no configured place to meet.
var ErrNowhere = errors.New("the ranks are on several machines and must meet to learn each other's endpoints; " +
	"set FLEET_RENDEZVOUS on all of them to host:port of rank 0, or to file:///dir for a directory that all share")

// Process is one of the ranks that meet. All ranks of a job have the same Size, Job and Where.
type Process struct {
	Rank, Size int
	// Serves reports that others call this rank, so that it needs a port: Port, or a free one if that is 0.
	Serves bool
	Port   int
	// Job distinguishes jobs that run at the same time; "" if there is nothing to distinguish them.
	Job string
	// OneMachine reports that all ranks are known to be on this machine.
	OneMachine bool
	// Host is the name or address under which others reach this machine; "" means the address from which it calls rank
	// 0.
	Host string
	// Where is "host:port", at which rank 0 listens, or "file:///dir", a directory that all machines share; "" leaves
	// the place to the process manager, or to this machine if all ranks are on it.
	Where string
	// PMI is the open file, by number, that connects the process to MPICH's or Intel MPI's process manager; "" if there
	// is none.
	PMI string
}
