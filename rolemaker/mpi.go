package rolemaker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MPISymmetric assigns roles to the ranks that mpirun, mpiexec or srun started, without using MPI itself: even ranks
// are servers, odd ranks are workers, so that two ranks on each machine are one of each. Rank r has index r/2 in its
// role.
//
// Rank and size come from the variables of Open MPI, MVAPICH2, MPICH, Intel MPI (PMI) or Slurm. Servers choose free
// ports when they start, so the ranks must meet once to exchange them ([MPISymmetric.Resolve]). They meet
//
//   - where Rendezvous or FLEET_RENDEZVOUS says: "host:port", at which rank 0 listens, or "file:///dir", a directory
//     that all machines share, through which rank 0 tells where it listens;
//   - else through MPICH's or Intel MPI's process manager, if that is there (PMI_FD);
//   - else, if all ranks are on one machine, on its loopback.
//
// The meeting is neither encrypted nor authenticated, and carries only endpoints. Use it in networks that you trust.
type MPISymmetric struct {
	// Getenv looks a variable up; nil means os.Getenv.
	Getenv func(name string) string
	// Rendezvous is where the ranks meet; "" means FLEET_RENDEZVOUS or, if that is not set, as described above.
	Rendezvous string
	// Host is the name or address under which others reach this machine; "" means FLEET_ADVERTISE, or the address from
	// which it calls rank 0.
	Host string
	// Timeout bounds the meeting; 0 means 3 minutes. The context's deadline bounds it too.
	Timeout time.Duration
}

// Identity implements [RoleMaker]. The servers' endpoints are "" until Resolve.
func (m MPISymmetric) Identity() (Identity, error) {
	w, err := environment(m.Getenv).world()
	if err != nil {
		return Identity{}, fmt.Errorf("rolemaker: MPISymmetric: %w", err)
	}
	id, err := w.symmetric()
	if err != nil {
		return Identity{}, fmt.Errorf("rolemaker: MPISymmetric: %w", err)
	}
	return id, nil
}

// symmetric is the role of a rank in a job with as many servers as workers.
func (w world) symmetric() (Identity, error) {
	if w.size%2 != 0 {
		return Identity{}, fmt.Errorf("%s is %d, which is odd; even ranks serve and odd ranks train, so start an even "+
			"number, or say how many serve with %s", w.launcher.size, w.size, envFleetServers)
	}
	id := Identity{Role: Server, Index: w.rank / 2, Workers: w.size / 2, Servers: make([]string, w.size/2)}
	if w.rank%2 == 1 {
		id.Role = Worker
	}
	return id, nil
}

// mpi is the claim of the launchers of ranks, if they started several.
func (e env) mpi() (c claim, err error) {
	w, err := e.world()
	if errors.Is(err, errNoRank) || err == nil && w.size == 1 {
		return claim{}, nil
	}
	c = claim{source: "MPISymmetric", names: e.found(rankNames())}
	if err != nil {
		return c, err
	}
	if e(envFleetServers) == "" {
		c.id, err = w.symmetric()
	}
	if err == nil {
		c.id, err = divided(e, w, c.id)
	}
	if c.indexed = err == nil; c.indexed {
		c.meeting = &meeting{world: w, pmi: strings.TrimSpace(e("PMI_FD"))}
	}
	return c, err
}

// Resolve is what [RoleMaker] says of it: all ranks meet, servers announce their endpoints, and every rank gets the
// list.
//
// A server reserves its port until just before Resolve returns, and can then listen there. Ports are chosen outside the
// range that the system uses for outgoing connections.
func (m MPISymmetric) Resolve(ctx context.Context) (Identity, error) {
	id, err := m.Identity()
	if err != nil {
		return Identity{}, err
	}
	e := environment(m.Getenv)
	w, err := e.world()
	if err == nil {
		c := claim{id: id, indexed: true, meeting: &meeting{world: w, pmi: strings.TrimSpace(e("PMI_FD"))}}
		id, err = c.meet(ctx, e, m)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("rolemaker: MPISymmetric: %w", err)
	}
	return id, nil
}
