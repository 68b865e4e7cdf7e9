package rolemaker

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// paddleNames are the variables that say that a process belongs to a job of PaddleCloud's kind. POD_IP and PADDLE_PORT
// are not among them: clusters set them for any process.
func paddleNames() []string {
	return []string{envRole, envOldRole, envServers, envServerIPs, envServerNum, envServerID,
		envWorkerNum, envWorkerID, envWorkers, envMaster, "PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM"}
}

// FromEnvironment is the role maker that the environment speaks of: [Collective] if PADDLE_CURRENT_ENDPOINT and the
// list of workers are set and no server is named; [PaddleCloud] if any of its variables is set; otherwise
// [MPISymmetric] if mpirun, mpiexec or srun started more than one rank; otherwise [Local]. getenv looks a variable up;
// nil means os.Getenv.
//
// A job is never taken for a process alone: where variables are missing or contradict each other, or where another
// launcher says that there are several processes (TF_CONFIG, VC_*, RANK and WORLD_SIZE, DMLC_* and their like),
// Identity returns an error that names them.
func FromEnvironment(getenv func(string) string) RoleMaker {
	e := environment(getenv)
	if e.speaksOfCollective() {
		return found{Collective{Getenv: getenv}, []string{envWorkers, envCurrent}}
	}
	if names := e.found(paddleNames()); len(names) > 0 {
		return found{PaddleCloud{Getenv: getenv}, names}
	}
	w, err := e.world()
	if w.size > 1 {
		return MPISymmetric{Getenv: getenv}
	}
	if err == nil || errors.Is(err, errNoRank) {
		err = cmp.Or(e.mistyped(), e.strangers())
	}
	if err != nil {
		return failed{fmt.Errorf("rolemaker: the environment is of no job that can be told: %w", err)}
	}
	return Local{}
}

// speaksOfCollective says whether the variables are those of a collective job. TRAINING_ROLE is of jobs with servers.
func (e env) speaksOfCollective() bool {
	withServers := []string{envRole, envServers, envServerIPs, envServerNum}
	return len(e.found([]string{envWorkers, envCurrent})) == 2 && len(e.found(withServers)) == 0
}

// found is a role maker that was chosen because some variables are set; its errors say so.
type found struct {
	RoleMaker
	names []string
}

// String says which role maker it is, and why.
func (f found) String() string {
	return fmt.Sprintf("%T, found in the environment: %s", f.RoleMaker, strings.Join(f.names, ", "))
}

// Identity implements [RoleMaker].
func (f found) Identity() (Identity, error) {
	id, err := f.RoleMaker.Identity()
	if err != nil {
		return Identity{}, fmt.Errorf("%w (found in the environment: %s)", err, strings.Join(f.names, ", "))
	}
	return id, nil
}

// failed is a role maker that knows only what is wrong.
type failed struct{ err error }

// Identity implements [RoleMaker].
func (f failed) Identity() (Identity, error) { return Identity{}, f.err }
