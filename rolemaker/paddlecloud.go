package rolemaker

import (
	"fmt"
	"slices"
	"strings"
)

// PaddleCloud reads the environment variables of PaddlePaddle's launchers and cloud operators.
//
// All processes:
//
//	PADDLE_PSERVERS_IP_PORT_LIST  endpoints of all servers, "ip:port,ip:port"
//	PADDLE_TRAINERS_NUM           number of workers
//	TRAINING_ROLE                 PSERVER or TRAINER
//	PADDLE_TRAINER_ENDPOINTS      endpoints of all workers (optional)
//	PADDLE_PSERVERS_NUM           number of servers (optional; checked against the list)
//
// A worker also needs PADDLE_TRAINER_ID, its index. A server needs POD_IP and PADDLE_PORT, which together are one
// endpoint of the list, or PADDLE_PSERVER_ID, its index, which is enough by itself: the list may then have names, or
// addresses of services, that the pod doesn't know as its own. Where POD_IP is in the list with another port,
// PADDLE_TRAINER_ID is the index, as paddle-operator sets it on the host's network. Where a server listens at another
// address than the list has, FLEET_LISTEN says so (package transport).
//
// Older names are understood: PADDLE_TRAINING_ROLE (which makes PADDLE_TRAINERS_NUM 1 if that is not set),
// PADDLE_CURRENT_IP for POD_IP, and for the list PADDLE_PSERVERS (ips) with PADDLE_PORT (one port for all or one for
// each, 6174 if not set).
//
// Related variables without a meaning here are ignored (PADDLE_WITH_GLOO, PADDLE_GLOO_*, PADDLE_HETER_*, SYS_JOB_ID,
// CUDA_VISIBLE_DEVICES). So are CPU_NUM and FLAGS_*: the program chooses the number of training threads, and package
// strategy has the options of the communicator flags.
//
// If none of the variables is set, the process trains alone, as with [Local], so the program needs no other role maker
// to run without a cluster. POD_IP and PADDLE_PORT alone mean nothing, since clusters set them for any process. If some
// variables are set and others are missing, Identity returns an error that names the missing ones. A process that MPI,
// Slurm or another launcher started as one of several is an error: use [FromEnvironment] there.
type PaddleCloud struct {
	// Getenv looks a variable up; nil means os.Getenv.
	Getenv func(name string) string
}

// The variables of PaddleCloud.
const (
	envRole         = "TRAINING_ROLE"
	envOldRole      = "PADDLE_TRAINING_ROLE"
	envServers      = "PADDLE_PSERVERS_IP_PORT_LIST"
	envServerIPs    = "PADDLE_PSERVERS"
	envServerNum    = "PADDLE_PSERVERS_NUM"
	envServerID     = "PADDLE_PSERVER_ID"
	envIP           = "POD_IP"
	envOldIP        = "PADDLE_CURRENT_IP"
	envPort         = "PADDLE_PORT"
	envWorkerNum    = "PADDLE_TRAINERS_NUM"
	envWorkerID     = "PADDLE_TRAINER_ID"
	envWorkers      = "PADDLE_TRAINER_ENDPOINTS"
	envMaster       = "PADDLE_MASTER"
	envElastic      = "PADDLE_ELASTIC_JOB_ID"
	defaultOldPort  = "6174"
	roleServerValue = "PSERVER"
	roleWorkerValue = "TRAINER"
)

// Identity implements [RoleMaker].
func (p PaddleCloud) Identity() (Identity, error) {
	return environment(p.Getenv).only("PaddleCloud", env.withServers)
}

// paddleNames are the variables which show that a process belongs to a job of PaddleCloud's kind. POD_IP and
// PADDLE_PORT are not among them: clusters set them for any process.
func paddleNames() []string {
	return []string{envRole, envOldRole, envServers, envServerIPs, envServerNum, envServerID, envWorkerNum, envWorkerID,
		envWorkers, envMaster, envServerCount, envWorkerCount, envElastic}
}

// paddle is the claim of PaddlePaddle's variables, except for processes that exchange addresses.
func (e env) paddle() (c claim, err error) {
	switch {
	case e.meetsAtMaster():
		return claim{}, nil
	case e.speaksOfCollective():
		return e.withoutServers()
	}
	return e.withServers()
}

func (e env) withServers() (c claim, err error) {
	c = claim{source: "PaddleCloud", names: e.found(paddleNames())}
	if c.speaks() {
		said := cloud{env: e}
		err = said.read()
		c.id, c.indexed = said.id, err == nil
	}
	return c, err
}

// cloud reads PaddleCloud's variables of a process in a job with servers.
type cloud struct {
	env
	id    Identity // as far as it is known
	ports []string // PADDLE_PORT's, or the default of the older form
}

// read sets the identity as far as it is known, even if it returns an error.
func (c *cloud) read() (err error) {
	if c.id.Role, err = c.role(); err != nil {
		return err
	}
	if c.env.port(envPort) != "" {
		c.ports = c.list(envPort)
	}
	if len(c.ports) == 0 && c.env(envServers) == "" {
		c.ports = []string{defaultOldPort}
	}
	if c.id.Servers, err = c.servers(); err != nil {
		return err
	}
	if c.id.WorkerEndpoints, err = c.endpoints(envWorkers); err != nil {
		return err
	}
	if c.id.Workers, err = c.workers(); err != nil {
		return err
	}
	if c.id.Role == Server {
		c.id.Index, err = c.serverIndex()
	} else {
		c.id.Index, err = c.workerIndex()
	}
	return err
}

func (c *cloud) role() (Role, error) {
	value, name, err := c.either(envRole, envOldRole)
	if err != nil {
		return 0, err
	}
	switch value {
	case roleServerValue:
		return Server, nil
	case roleWorkerValue:
		return Worker, nil
	case "":
		err := fmt.Errorf("%s is not set; it is %s on a server and %s on a worker", name, roleServerValue,
			roleWorkerValue)
		if master := c.env(envMaster); master != "" {
			err = fmt.Errorf("%w (%s is %q: where Kubeflow's PaddleJob has set it, rolemaker.FromEnvironment meets "+
				"the others there)", err, envMaster, master)
		}
		return 0, err
	}
	return 0, fmt.Errorf("%s is %q; it can be %s or %s", name, value, roleServerValue, roleWorkerValue)
}

// servers are the endpoints of all servers, from the list or the older pair of ips and ports.
func (c *cloud) servers() ([]string, error) {
	list, err := c.endpoints(envServers)
	if len(list) == 0 && err == nil {
		list, err = c.oldServers()
	}
	if err != nil {
		return nil, err
	}
	n, set, err := c.integer(envServerNum)
	if err == nil && set && n != len(list) {
		err = fmt.Errorf("%s is %d, but the list has %d server endpoints: %s", envServerNum, n, len(list),
			strings.Join(list, ","))
	}
	return list, err
}

func (c *cloud) oldServers() ([]string, error) {
	list, ports := c.list(envServerIPs), c.ports
	if job := c.env(envElastic); job != "" && len(list) == 0 {
		return nil, fmt.Errorf("%s is %s, but %s is not set: elastic jobs tell in etcd who takes part, which gofleet "+
			"does not read: leave out elastic, or %s", envElastic, job, envServers, advice)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s is not set; it lists the endpoints of all servers, \"ip:port,ip:port\"", envServers)
	}
	if len(ports) != 1 && len(ports) != len(list) {
		return nil, fmt.Errorf("%s is %q and %s is %q; give one port for all or one for each",
			envServerIPs, c.env(envServerIPs), envPort, c.env(envPort))
	}
	for i := range list {
		list[i] = joinHostPort(list[i], ports[i%len(ports)])
	}
	if err := checkEndpoints(list); err != nil {
		return nil, fmt.Errorf("%s is %q and %s is %q: %w", envServerIPs, c.env(envServerIPs), envPort,
			c.env(envPort), err)
	}
	return list, nil
}

func (c *cloud) workers() (int, error) {
	endpoints := c.id.WorkerEndpoints
	n, set, err := c.integer(envWorkerNum)
	switch {
	case err != nil:
		return 0, err
	case !set && len(endpoints) > 0:
		return len(endpoints), nil
	case !set && c.env(envRole) == "":
		return 1, nil
	case !set:
		return 0, fmt.Errorf("%s is not set; it is the number of workers", envWorkerNum)
	case n < 1:
		return 0, fmt.Errorf("%s is %d; there must be at least 1 worker", envWorkerNum, n)
	case len(endpoints) > 0 && len(endpoints) != n:
		return 0, fmt.Errorf("%s is %d, but %s has %d: %q", envWorkerNum, n, envWorkers, len(endpoints),
			c.env(envWorkers))
	}
	return n, nil
}

func (c *cloud) workerIndex() (int, error) {
	workers := c.id.Workers
	n, set, err := c.integer(envWorkerID)
	switch {
	case err != nil:
		return 0, err
	case !set:
		return 0, fmt.Errorf("%s is not set; it is this worker's number, 0 to %d", envWorkerID, workers-1)
	case n < 0 || n >= workers:
		return 0, fmt.Errorf("%s is %d, but the workers are 0 to %d (%s)", envWorkerID, n, workers-1, envWorkerNum)
	}
	return n, nil
}

// serverIndex finds this server in the list, by its endpoint or its number.
func (c *cloud) serverIndex() (int, error) {
	servers, ports := c.id.Servers, c.ports
	n, numbered, err := c.integer(envServerID)
	if err == nil && numbered && (n < 0 || n >= len(servers)) {
		err = fmt.Errorf("%s is %d, but the servers are 0 to %d", envServerID, n, len(servers)-1)
	}
	if err != nil {
		return 0, err
	}
	ip, ipName, err := c.either(envIP, envOldIP)
	switch {
	case err != nil:
		return 0, err
	case ip == "" && numbered:
		return n, nil
	case ip == "":
		return 0, fmt.Errorf("%s is not set; with %s it makes this server's endpoint, which must be one of %s",
			ipName, envPort, strings.Join(servers, ","))
	}
	at := c.find(ip)
	switch {
	case numbered && len(at) > 0 && !slices.Contains(at, n):
		return 0, fmt.Errorf("%s is %d, but endpoint %s is number %d of the servers", envServerID, n, servers[at[0]],
			at[0])
	case numbered:
		return n, nil // the list may have names, or addresses of services, while the pod has its own address
	case len(at) == 1:
		return at[0], nil
	case c.hasPlace(ip):
		at, _, _ := c.integer(envWorkerID)
		return at, nil
	case len(ports) == 0 && c.env(envPort) != "":
		return 0, fmt.Errorf("%s, as Kubernetes has it for a Service of the name paddle: enableServiceLinks: false "+
			"keeps that out, and %s says which of %s this server is", c.show(envPort), envServerID,
			strings.Join(servers, ","))
	case len(ports) == 0:
		return 0, fmt.Errorf("%s is not set; with %s it makes this server's endpoint", envPort, ipName)
	case len(at) == 0:
		return 0, fmt.Errorf("%s is %q and %s is %q, but %s is not one of the servers %s; where these are names, %s "+
			"says which this one is",
			ipName, ip, envPort, strings.Join(ports, ","), joinHostPort(ip, ports[0]), strings.Join(servers, ","),
			envServerID)
	}
	return 0, fmt.Errorf("%s is %q and %s is %q, which are several servers' (%v); give %s one port",
		ipName, ip, envPort, c.env(envPort), at, envPort)
}

// hasPlace reports whether PADDLE_TRAINER_ID is this server's number, which paddle-operator sets on servers too: on the
// host's network it lists one port, and sets another as PADDLE_PORT.
func (c *cloud) hasPlace(ip string) bool {
	n, numbered, err := c.integer(envWorkerID)
	return err == nil && numbered && n >= 0 && n < len(c.id.Servers) && called(c.id.Servers[n], ip)
}

// find returns the places in the list that may be this server's own endpoint.
func (c *cloud) find(ip string) (at []int) {
	for _, port := range c.ports {
		if k := indexEndpoint(c.id.Servers, joinHostPort(ip, port)); k >= 0 && !slices.Contains(at, k) {
			at = append(at, k)
		}
	}
	return at
}
