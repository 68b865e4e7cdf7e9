package rolemaker

import "fmt"

const (
	envNodes       = "PADDLE_NNODES"
	envServerCount = "PADDLE_SERVER_NUM"
	envWorkerCount = "PADDLE_TRAINER_NUM"
)

// paddleJob is the claim of Kubeflow's PaddleJob. It sets where the processes meet, PADDLE_MASTER, their number,
// PADDLE_NNODES, and one of two variables: PADDLE_SERVER_NUM for a server, PADDLE_TRAINER_NUM for a worker; neither in
// a job without servers. The number of a process is the end of its pod's name, or FLEET_INDEX.
func (e env) paddleJob() (c claim, err error) {
	if !e.meetsAtMaster() {
		return claim{}, nil
	}
	c = claim{source: "PaddleJob", names: e.found([]string{envMaster, envNodes, envServerCount, envWorkerCount})}
	size, set, err := e.integer(envNodes)
	switch {
	case err != nil:
		return c, err
	case !set:
		return c, fmt.Errorf("%s is not set; it is the number of processes that meet at %s", envNodes, envMaster)
	case size == 1:
		return claim{}, nil
	}
	own, err := e.declared()
	if err != nil {
		return c, err
	}
	serves, trains := e(envServerCount) != "", e(envWorkerCount) != ""
	switch {
	case serves && trains:
		return c, fmt.Errorf("%s and %s are both set; a process is a server or a worker", envServerCount,
			envWorkerCount)
	case serves:
		c.id.Role = Server
	case trains:
		c.id.Role = Worker
	default:
		c.id = Identity{Role: Worker, Workers: size, WorkerEndpoints: make([]string, size), Collective: true}
	}
	c.id.Index, c.indexed = ordinal(e(envHostname))
	who := own.or(c)
	if !who.indexed {
		return c, fmt.Errorf("%s is %q, which does not end in this process's number: set %s", envHostname,
			e(envHostname), envFleetIndex)
	}
	rank := who.id.Index
	if who.id.Role == Worker && !who.id.Collective {
		rank = size - 1 - rank // servers from the front, workers from the back: the numbers of each are not known yet
	}
	if rank < 0 || rank >= size {
		return c, fmt.Errorf("this is %v, but the job has %d processes (%s)", who, size, envNodes)
	}
	c.meeting = &meeting{world: world{rank: rank, size: size, job: e("PADDLE_JOB_ID")}, where: e(envMaster)}
	return c, nil
}

// meetsAtMaster reports whether processes have neither a role nor a list, but a place to meet.
func (e env) meetsAtMaster() bool {
	return e(envMaster) != "" && len(e.found([]string{envRole, envOldRole, envServers, envServerIPs, envWorkers})) == 0
}
