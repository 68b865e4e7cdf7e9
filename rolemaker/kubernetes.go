package rolemaker

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Variables that every pod of Kubernetes has: its name, HOSTNAME, which ends in its number if it belongs to a
// StatefulSet or an Indexed Job (or a JobSet), and JOB_COMPLETION_INDEX. The number is one among pods of the same kind,
// and says nothing about a job: it is used only if FLEET_SERVERS or FLEET_WORKERS describes one.
const (
	envCompletion = "JOB_COMPLETION_INDEX"
	envHostname   = "HOSTNAME"
)

// podIndex is this pod's number, and the variable that has it, "" if none does.
func (e env) podIndex() (n int, name string, err error) {
	n, set, err := e.integer(envCompletion)
	ordinal, ends := ordinal(e(envHostname))
	switch {
	case err != nil:
		return 0, "", err
	case set && ends && n != ordinal:
		return 0, "", fmt.Errorf("%s is %d, but %s is %s: %s says which is right", envCompletion, n, envHostname,
			e(envHostname), envFleetIndex)
	case set:
		return n, envCompletion, nil
	case ends:
		return ordinal, envHostname, nil
	}
	return 0, "", nil
}

// ordinal is the number at the end of a pod's name.
func ordinal(pod string) (n int, ends bool) {
	pod, _, _ = strings.Cut(strings.TrimSpace(pod), ".")
	n, err := strconv.Atoi(pod[strings.LastIndex(pod, "-")+1:])
	return n, err == nil && strings.Contains(pod, "-")
}

// ownPlace is the place of this process in a list of endpoints, by its own name, and the variable with the name; -1 if
// it is in no place, or in several.
func (e env) ownPlace(list []string) (at int, name string) {
	for _, name := range []string{envAdvertise, envHostname, envIP} {
		own := strings.TrimSpace(e(name))
		for _, same := range []func(endpoint, own string) bool{called, firstLabel} {
			at, n := -1, 0
			for i, endpoint := range list {
				if own != "" && same(endpoint, own) {
					at, n = i, n+1
				}
			}
			if n == 1 {
				return at, name
			}
		}
	}
	return -1, ""
}

// called reports whether an endpoint is at a host, or is that endpoint.
func called(endpoint, own string) bool {
	if strings.HasSuffix(own, "]") { // an address of IPv6 without a port
		own = strings.Trim(own, "[]")
	}
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return endpoint == own
	}
	a, errA := netip.ParseAddr(host)
	b, errB := netip.ParseAddr(own)
	return strings.EqualFold(host, own) || strings.EqualFold(endpoint, own) || sameAddress(endpoint, own) ||
		errA == nil && errB == nil && a == b
}

// firstLabel reports whether an endpoint's host begins with the name of this machine: wd-ps-1.wd with wd-ps-1.
func firstLabel(endpoint, own string) bool {
	host, _, _ := strings.Cut(endpoint, ":")
	host, _, named := strings.Cut(host, ".")
	own, _, _ = strings.Cut(own, ".")
	_, err := strconv.Atoi(own) // an address
	return named && err != nil && strings.EqualFold(host, own)
}

// unpaired is a note for a pod with a number that trains alone: what would make it one of several.
func (e env) unpaired() string {
	if n := strings.TrimSpace(e(envCompletion)); n != "" {
		return fmt.Sprintf("pod %s has %s=%s and trains alone; %s makes it one of several", e(envHostname),
			envCompletion, n, envFleetServers)
	}
	return ""
}
