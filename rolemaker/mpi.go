package rolemaker

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gofleet/gofleet/rolemaker/internal/rendezvous"
)

// MPISymmetric makes servers and workers of the ranks that mpirun, mpiexec or srun started, without MPI itself: even
// ranks serve, odd ranks train, so that two ranks on each machine are one of each. Rank r is number r/2 of its role.
//
// Rank and size come from the variables of Open MPI, MVAPICH2, MPICH, Intel MPI (PMI) or Slurm. Servers choose free
// ports when they start, so the ranks meet once to learn them: [MPISymmetric.Resolve]. They meet
//
//   - where Rendezvous or FLEET_RENDEZVOUS says: "host:port", at which rank 0 listens, or "file:///dir", a directory
//     that all machines share, through which rank 0 tells where it listens;
//   - else through MPICH's or Intel MPI's process manager, if that is there (PMI_FD);
//   - else, if all ranks are on one machine, on its loopback.
//
// The meeting is neither encrypted nor authenticated: it is for networks that the job's owner trusts, and carries
// endpoints only.
type MPISymmetric struct {
	// Getenv looks a variable up; nil means os.Getenv.
	Getenv func(name string) string
	// Rendezvous is where the ranks meet; "" means FLEET_RENDEZVOUS, or as said above if that is not set.
	Rendezvous string
	// Host is the name or address under which others reach this machine; "" means the address from which it calls rank
	// 0.
	Host string
	// Timeout bounds the meeting; 0 means 3 minutes. The context's deadline bounds it too.
	Timeout time.Duration
}

const defaultMeetingTime = 3 * time.Minute

// Identity implements [RoleMaker]. The servers' endpoints are "" until Resolve.
func (m MPISymmetric) Identity() (Identity, error) {
	w, err := environment(m.Getenv).world()
	if err == nil {
		err = w.checkSymmetry()
	}
	if err != nil {
		return Identity{}, fmt.Errorf("rolemaker: MPISymmetric: %w", err)
	}
	return w.identity(), nil
}

// checkSymmetry refuses what can't be split into as many servers as workers.
func (w world) checkSymmetry() error {
	if w.size%2 != 0 {
		return fmt.Errorf("%s is %d, which is odd; even ranks serve and odd ranks train, so start an even number",
			w.launcher.size, w.size)
	}
	return nil
}

func (w world) identity() Identity {
	id := Identity{Role: Server, Index: w.rank / 2, Workers: w.size / 2, Servers: make([]string, w.size/2)}
	if w.rank%2 == 1 {
		id.Role = Worker
	}
	return id
}

// Resolve implements [Resolver]: all ranks meet, servers tell their endpoints and everybody gets the list.
//
// A server holds its port until it has the list and lets go of it just before Resolve returns, so that the server can
// listen there. Ports are chosen outside the range from which systems take ports for outgoing calls.
func (m MPISymmetric) Resolve(ctx context.Context) (Identity, error) {
	id, err := m.Identity()
	if err != nil {
		return Identity{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.Timeout, defaultMeetingTime))
	defer cancel()
	endpoints, err := m.meet(ctx)
	if err != nil {
		return Identity{}, fmt.Errorf("rolemaker: MPISymmetric: %w", err)
	}
	for i := range id.Servers {
		id.Servers[i] = endpoints[2*i]
	}
	if err := id.Validate(); err != nil {
		return Identity{}, err
	}
	return id, nil
}

// meet gives the endpoints of all ranks, "" for workers.
func (m MPISymmetric) meet(ctx context.Context) ([]string, error) {
	e := environment(m.Getenv)
	w, err := e.world()
	if err != nil {
		return nil, err
	}
	return rendezvous.Meet(ctx, rendezvous.Process{
		Rank:       w.rank,
		Size:       w.size,
		Job:        w.job,
		OneMachine: w.oneMachine,
		Host:       m.Host,
		Where:      cmp.Or(m.Rendezvous, strings.TrimSpace(e(rendezvous.Variable))),
		PMI:        strings.TrimSpace(e("PMI_FD")),
	})
}
