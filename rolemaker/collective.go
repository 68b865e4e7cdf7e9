package rolemaker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Collective reads the environment variables of a collective job: workers that sum gradients among themselves, without
// servers.
//
//	PADDLE_TRAINER_ENDPOINTS  endpoints of all workers, "ip:port,ip:port"
//	PADDLE_TRAINER_ID         this worker's index
//	PADDLE_CURRENT_ENDPOINT   its endpoint, one of the list; it or PADDLE_TRAINER_ID must be there, and both must agree
//	PADDLE_TRAINERS_NUM       number of workers (optional; checked against the list)
//	PADDLE_TRAINING_ROLE      or TRAINING_ROLE: TRAINER, if it is there
//
// If no endpoint is set, the process trains alone, as with [Local]. If a launcher started it as one of several, that is
// an error, as with [PaddleCloud].
type Collective struct {
	// Getenv looks a variable up; nil means os.Getenv.
	Getenv func(name string) string
}

const envCurrent = "PADDLE_CURRENT_ENDPOINT"

// Identity implements [RoleMaker].
func (c Collective) Identity() (Identity, error) {
	return environment(c.Getenv).only("Collective", env.withoutServers)
}

func (e env) withoutServers() (c claim, err error) {
	if len(e.found([]string{envWorkers, envWorkerNum})) == 0 {
		return claim{}, nil
	}
	c = claim{source: "Collective", names: e.found(append(paddleNames(), envCurrent))}
	c.id, err = e.collective()
	c.indexed = err == nil
	return c, err
}

// speaksOfCollective reports whether the variables are a collective job's: workers are listed, and no server is. There
// must also be PADDLE_CURRENT_ENDPOINT, which PaddlePaddle's launcher sets, or the role of a worker, which
// paddle-operator sets.
func (e env) speaksOfCollective() bool {
	role, _, _ := e.either(envRole, envOldRole)
	return len(e.list(envWorkers)) > 0 && len(e.found([]string{envServers, envServerIPs, envServerNum})) == 0 &&
		(role == roleWorkerValue || role == "" && e(envCurrent) != "")
}

func (e env) collective() (id Identity, err error) {
	role, name, err := e.either(envRole, envOldRole)
	if err == nil && role != "" && role != roleWorkerValue {
		err = fmt.Errorf("%s is %q; a collective job has workers alone, so it can be %s", name, role, roleWorkerValue)
	}
	if err == nil && len(e.list(envServers)) > 0 {
		err = fmt.Errorf("%s is %q, but a collective job has no servers: use PaddleCloud, or unset it", envServers,
			e(envServers))
	}
	if err != nil {
		return id, err
	}
	id = Identity{Role: Worker, Collective: true}
	if id.WorkerEndpoints, err = e.endpoints(envWorkers); err != nil {
		return id, err
	}
	if len(id.WorkerEndpoints) == 0 {
		return e.collectiveAlone()
	}
	said := cloud{env: e, id: id}
	if id.Workers, err = said.workers(); err == nil {
		id.Index, err = e.rank(id.WorkerEndpoints)
	}
	return id, err
}

// collectiveAlone is the identity if no list of workers is set.
func (e env) collectiveAlone() (Identity, error) {
	n, _, err := e.integer(envWorkerNum)
	switch {
	case err != nil:
		return Identity{}, err
	case n > 1:
		return Identity{}, fmt.Errorf("%s is %d, but %s is not set; it lists the endpoints of all workers, "+
			"\"ip:port,ip:port\"", envWorkerNum, n, envWorkers)
	}
	return Local{}.Identity()
}

// rank is this worker's place in the list, by its number, its endpoint or both.
func (e env) rank(workers []string) (int, error) {
	current := strings.TrimSpace(e(envCurrent))
	at := indexEndpoint(workers, current)
	n, numbered, err := e.integer(envWorkerID)
	switch {
	case err != nil:
		return 0, err
	case !numbered && current == "":
		return 0, fmt.Errorf("%s and %s are not set; one of them says which of %s this worker is", envWorkerID,
			envCurrent, strings.Join(workers, ","))
	case current != "" && at < 0:
		return 0, fmt.Errorf("%s is %q, which is not one of %s: %s", envCurrent, current, envWorkers,
			strings.Join(workers, ","))
	case !numbered:
		return at, nil
	case n < 0 || n >= len(workers):
		return 0, fmt.Errorf("%s is %d, but the workers are 0 to %d (%s)", envWorkerID, n, len(workers)-1, envWorkers)
	case current != "" && at != n:
		return 0, fmt.Errorf("%s is %d, but %s %s is number %d of %s", envWorkerID, n, envCurrent, current, at,
			envWorkers)
	}
	return n, nil
}

// UserDefinedCollective is a worker of a collective job that the program states itself:
//
//	rolemaker.UserDefinedCollective{CurrentID: 0, WorkerEndpoints: []string{"127.0.0.1:6170", "127.0.0.1:6171"}}
type UserDefinedCollective struct {
	// CurrentID is this worker's index.
	CurrentID int
	// WorkerEndpoints are where all workers listen, at least one.
	WorkerEndpoints []string
}

// Identity implements [RoleMaker].
func (u UserDefinedCollective) Identity() (Identity, error) {
	id := Identity{Role: Worker, Index: u.CurrentID, Workers: len(u.WorkerEndpoints), Collective: true,
		WorkerEndpoints: slices.Clone(u.WorkerEndpoints)}
	if err := u.check(id); err != nil {
		return Identity{}, fmt.Errorf("rolemaker: UserDefinedCollective: %w", err)
	}
	return id, nil
}

func (u UserDefinedCollective) check(id Identity) error {
	switch {
	case id.Workers == 0:
		return errors.New("WorkerEndpoints is empty; name at least one worker")
	case id.Index < 0 || id.Index >= id.Workers:
		return fmt.Errorf("CurrentID is %d, but the workers are 0 to %d", id.Index, id.Workers-1)
	}
	if err := checkEndpoints(id.WorkerEndpoints); err != nil {
		return fmt.Errorf("WorkerEndpoints: %w", err)
	}
	return nil
}
