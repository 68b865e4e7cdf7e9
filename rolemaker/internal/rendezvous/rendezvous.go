package rendezvous

import (
	"cmp"
	"context"
	"net"
)

// Meet returns the endpoints of all serving ranks, by rank, "" for the others. It returns when all ranks have come, or
// with ctx.
//
// A serving rank holds its port until it has the list, and frees it just before Meet returns, so that the caller can
// listen there. A Port that the process sets is not held: the published address may be of another machine.
func Meet(ctx context.Context, p Process) ([]string, error) {
	port := 0
	if p.Serves {
		port = p.Port
	}
	if p.Serves && port == 0 {
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

func (p Process) meetByPMI(ctx context.Context, port int) ([]string, error) {
	conn, err := openPMI(p.PMI)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	own := ""
	if p.Serves {
		own = endpoint(cmp.Or(p.Host, ownHost(p.OneMachine)), port)
	}
	return p.exchangePMI(ctx, conn, own)
}
