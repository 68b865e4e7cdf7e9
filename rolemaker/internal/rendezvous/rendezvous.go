package rendezvous

import (
	"cmp"
	"context"
	"errors"
	"net"
)

// Variable is what users set to say where ranks meet.
const Variable = "FLEET_RENDEZVOUS"

// ErrNowhere says that ranks on several machines were not told where to meet.
var ErrNowhere = errors.New("the ranks are on several machines and must meet to learn each other's endpoints; " +
	"set FLEET_RENDEZVOUS on all of them to host:port of rank 0, or to file:///dir for a directory that all share")

// Process is one of the ranks that meet. All ranks of a job have the same Size, Job and Where.
type Process struct {
	Rank, Size int
	// Job tells jobs apart that run at the same time; "" if nothing does.
	Job string
	// OneMachine says that all ranks are known to be on this machine.
	OneMachine bool
	// Host is the name or address under which others reach this machine; "" means the address from which it calls rank 0.
	Host string
	// Where is "host:port", at which rank 0 listens, or "file:///dir", a directory that all machines share; "" leaves the place to
	// the process manager, or to this machine if all ranks are on it.
	Where string
	// PMI is the open file, by number, that connects the process to MPICH's or Intel MPI's process manager; "" if there is none.
	PMI string
}

// Meet gives the endpoints of all ranks' servers by rank, "" for ranks that have none: even ranks serve, odd ranks don't. It returns
// when all ranks have come, or with ctx.
//
// A server holds its port until it has the list and lets go of it just before Meet returns, so that the caller can listen there.
func Meet(ctx context.Context, p Process) ([]string, error) {
	port := 0
	if p.serves() {
		held, err := holdPort(ctx)
		if err != nil {
			return nil, err
		}
		defer held.Close()
		port = held.Addr().(*net.TCPAddr).Port
	}
	if p.Where == "" && p.PMI != "" {
		return p.meetByPMI(ctx, port)
	}
	at, err := p.meetingPlace()
	if err != nil {
		return nil, err
	}
	return meeting{Process: p, port: port, place: at}.run(ctx)
}

func (p Process) serves() bool { return p.Rank%2 == 0 }

func (p Process) meetByPMI(ctx context.Context, port int) ([]string, error) {
	conn, err := openPMI(p.PMI)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	own := ""
	if p.serves() {
		own = endpoint(cmp.Or(p.Host, ownHost(p.OneMachine)), port)
	}
	return p.exchangePMI(ctx, conn, own)
}
