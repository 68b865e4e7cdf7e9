package rendezvous

import (
	"cmp"
	"context"
	"net"
)

// Meet gives the endpoints of all ranks' servers by rank, "" for ranks that have none: even ranks serve, odd ranks
// don't. It returns when all ranks have come, or with ctx.
//
// A server holds its port until it has the list and lets go of it just before Meet returns, so that the caller can
// listen there.
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
