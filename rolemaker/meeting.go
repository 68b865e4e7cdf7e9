package rolemaker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/rolemaker/internal/rendezvous"
)

const defaultMeetingTime = 3 * time.Minute

// meeting is how processes exchange addresses: all call number 0 once.
type meeting struct {
	world
	where, pmi string // FLEET_RENDEZVOUS precedes where, and both precede pmi
}

// meet returns the whole identity. Serving ranks send their endpoints, which are numbered in the order of ranks; the
// other ranks train.
func (c claim) meet(ctx context.Context, e env, m MPISymmetric) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.Timeout, defaultMeetingTime))
	defer cancel()
	host, port, err := e.advertised()
	if err != nil {
		return Identity{}, err
	}
	serves := c.id.IsServer() || c.id.Collective
	endpoints, err := rendezvous.Meet(ctx, rendezvous.Process{
		Rank: c.meeting.rank, Size: c.meeting.size, Job: c.meeting.job, OneMachine: c.meeting.oneMachine,
		Serves: serves, Host: cmp.Or(m.Host, host), Port: port,
		Where: cmp.Or(m.Rendezvous, strings.TrimSpace(e(rendezvous.Variable)), c.meeting.where), PMI: c.meeting.pmi,
	})
	if err != nil {
		return Identity{}, err
	}
	id, own := c.id, endpoints[c.meeting.rank]
	called := slices.DeleteFunc(endpoints, func(endpoint string) bool { return endpoint == "" })
	if id.Collective {
		id.WorkerEndpoints = called
	} else {
		id.Servers, id.Workers = called, c.meeting.size-len(called)
	}
	if n := len(c.id.Servers); n > 0 && n != len(called) || serves && id.Endpoint() != own {
		return Identity{}, fmt.Errorf("this is %v, but %d processes say that they are servers: %s: all must be told "+
			"the same", c, len(called), strings.Join(called, ","))
	}
	if train := c.meeting.size - len(id.Servers); c.id.Workers != 0 && c.id.Workers != train {
		return Identity{}, fmt.Errorf("this is %v, of %d workers, but of %d processes %d train: all must be told the "+
			"same", c, c.id.Workers, c.meeting.size, train)
	}
	return id, id.Validate()
}
