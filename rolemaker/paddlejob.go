package rolemaker

import "fmt"

const (
	envNodes       = "PADDLE_NNODES"
	envServerCount = "PADDLE_SERVER_NUM"
	envWorkerCount = "PADDLE_TRAINER_NUM"
)

// Kubeflow's PaddleJob tells a process where to meet the others, PADDLE_MASTER, how many there are, PADDLE_NNODES, and
// by which of two variables is set whether it is a server, PADDLE_SERVER_NUM, or a worker, PADDLE_TRAINER_NUM; neither
// is in a job without servers. Its number is the end of its pod's name, or FLEET_INDEX.
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
		rank = size - 1 - rank // servers from the front, workers from the back: how many are which is not known yet
	}
	if rank < 0 || rank >= size {
		return c, fmt.Errorf("this is %v, but there are %d processes (%s)", who, size, envNodes)
	}
	c.meeting = &meeting{world: world{rank: rank, size: size, job: e("PADDLE_JOB_ID")}, where: e(envMaster)}
	return c, nil
}

// meetsAtMaster says whether processes are told neither a role nor a list, but where they meet.
func (e env) meetsAtMaster() bool {
	return e(envMaster) != "" && len(e.found([]string{envRole, envOldRole, envServers, envServerIPs, envWorkers})) == 0
}
