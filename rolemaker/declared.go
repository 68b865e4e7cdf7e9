package rolemaker

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// gofleet's own variables, all of which [FromEnvironment] reads:
//
//	FLEET_ROLE       server or worker
//	FLEET_INDEX      this process's number within its role, from 0
//	FLEET_SERVERS    all servers, "ps-{0..3}.ps:36000", or their number, if the processes exchange addresses
//	FLEET_WORKERS    the number of workers, or all of them, which a job without servers needs: "w-{0..7}.w:36000"
//	FLEET_PORT       port of entries that have none; 36000 if it is not set
//	FLEET_ADVERTISE  "host" or "host:port" at which others call this process, if it can't find that out
const (
	envFleetRole    = "FLEET_ROLE"
	envFleetIndex   = "FLEET_INDEX"
	envFleetServers = "FLEET_SERVERS"
	envFleetWorkers = "FLEET_WORKERS"
	envFleetPort    = "FLEET_PORT"
	envAdvertise    = "FLEET_ADVERTISE"
	envListen       = "FLEET_LISTEN"
	defaultPort     = "36000"
)

// declaredNames are the variables that describe a job.
func declaredNames() []string {
	return []string{envFleetRole, envFleetIndex, envFleetServers, envFleetWorkers}
}

// declared is the claim of gofleet's own variables.
func (e env) declared() (c claim, err error) {
	c.names = e.found(declaredNames())
	if !c.speaks() {
		return c, nil
	}
	c.source = "Declared"
	switch role := strings.TrimSpace(e(envFleetRole)); role {
	case "":
	case "server":
		c.id.Role = Server
	case "worker":
		c.id.Role = Worker
	default:
		return c, fmt.Errorf("%s is %q; it can be server or worker", envFleetRole, role)
	}
	if c.id.Index, c.indexed, err = e.integer(envFleetIndex); err == nil && c.id.Index < 0 {
		err = fmt.Errorf("%s is %d; numbers are from 0", envFleetIndex, c.id.Index)
	}
	if err != nil {
		return c, err
	}
	n, list, err := e.members(envFleetServers)
	if err != nil {
		return c, err
	}
	if c.id.Servers = list; list == nil && n > 0 {
		c.id.Servers = make([]string, n)
	}
	c.id.Workers, c.id.WorkerEndpoints, err = e.members(envFleetWorkers)
	c.id.Collective = len(c.id.Servers) == 0 && len(c.id.WorkerEndpoints) > 0
	return c, err
}

// members are the endpoints that a variable lists, or their number.
func (e env) members(name string) (n int, list []string, err error) {
	value := strings.TrimSpace(e(name))
	if n, err := strconv.Atoi(value); err == nil {
		if n < 0 || n > maxMembers {
			return 0, nil, fmt.Errorf("%s is %d; it can be 0 to %d, or a list", name, n, maxMembers)
		}
		return n, nil, nil
	}
	for _, entry := range e.list(name) {
		some, err := expand(entry)
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, some...)
	}
	if list, err = e.withPorts(list); err != nil {
		return 0, nil, fmt.Errorf("%s is %q: %w", name, value, err)
	}
	return len(list), list, nil
}

// withPorts adds FLEET_PORT to the hosts of a list that have no port.
func (e env) withPorts(list []string) ([]string, error) {
	port := cmp.Or(e.port(envFleetPort), defaultPort)
	for i, entry := range list {
		_, err := netip.ParseAddr(strings.Trim(entry, "[]"))
		if bare := err == nil || !strings.Contains(entry, ":"); bare && entry != "" {
			list[i] = joinHostPort(entry, port)
		}
	}
	return list, checkEndpoints(list)
}

// port is the value of a variable for a port, but not one that Kubernetes has set for a service of that name:
// tcp://10.96.0.5:36000.
func (e env) port(name string) string {
	if value := strings.TrimSpace(e(name)); !strings.Contains(value, "://") {
		return value
	}
	return ""
}

// advertised are the host and the port at which others call this process, as far as they are known before it listens.
func (e env) advertised() (host string, port int, err error) {
	host = strings.TrimSpace(e(envAdvertise))
	listening := strings.TrimSpace(e(envListen))
	text := ""
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, text = h, p
	} else if _, p, err := net.SplitHostPort(listening); err == nil {
		text = p
	}
	if text == "" || text == "0" {
		return strings.Trim(host, "[]"), 0, nil
	}
	if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("%s is %q and %s is %q: port %q must be 1 to 65535", envAdvertise,
			e(envAdvertise), envListen, listening, text)
	}
	return host, port, nil
}

// placed adds the role and the index of the endpoint in the lists that has this process's own name.
func (e env) placed(c claim) claim {
	at, name := e.ownPlace(c.id.Servers)
	among, other := e.ownPlace(c.id.WorkerEndpoints)
	switch {
	case c.id.Role != 0 || at >= 0 && among >= 0: // a machine may have processes of both
	case at >= 0:
		c.id.Role = Server
	case among >= 0:
		c.id.Role = Worker
	}
	if c.id.Role == Worker {
		at, name = among, other
	}
	if !c.indexed && c.id.Role != 0 && at >= 0 {
		c.id.Index, c.indexed, c.names = at, true, append(c.names, name)
	}
	return c
}

// completed adds to the declared claim what this process's own name and number say.
func (e env) completed(c claim) (claim, error) {
	c = e.placed(c)
	if c.id.Role != Server && c.id.Workers == 1 && len(c.id.Servers) == 0 && !c.indexed {
		c.id.Role, c.indexed = Worker, true
	}
	if !c.indexed && c.id.Role != 0 {
		n, name, err := e.podIndex()
		if err != nil {
			return c, err
		}
		if name != "" {
			c.id.Index, c.indexed, c.names = n, true, append(c.names, name)
		}
	}
	return c, nil
}

// lacking returns what keeps a claim from being an identity.
func (c claim) lacking() error {
	met := c.meeting != nil
	switch {
	case c.id.Role == 0:
		return fmt.Errorf("%s is not set; it is server or worker", envFleetRole)
	case !c.indexed:
		return fmt.Errorf("%s is not set; it is this %v's number, from 0 (on Kubernetes, of a pod's label or "+
			"annotation that has its index)", envFleetIndex, c.id.Role)
	case met:
		return nil
	case c.id.Workers == 0:
		return fmt.Errorf("%s is not set; it is the number of workers, or a list of them", envFleetWorkers)
	case len(c.id.Servers) > 0 && c.id.Servers[0] == "":
		return fmt.Errorf("%s is %d, but nothing says where they are: list them, as in ps-{0..%d}.ps:%s",
			envFleetServers, len(c.id.Servers), len(c.id.Servers)-1, defaultPort)
	case c.id.Local() && (c.id.IsServer() || c.id.Workers > 1):
		return errors.New(envFleetServers + " is not set; it lists all servers. Workers that train without servers " +
			"are listed in " + envFleetWorkers)
	}
	return nil
}
