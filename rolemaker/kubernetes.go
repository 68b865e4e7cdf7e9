package rolemaker

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// What a pod of Kubernetes knows of itself without being told: its name, HOSTNAME, which ends in its number where it
// is a StatefulSet's or an Indexed Job's (a JobSet's is one), and JOB_COMPLETION_INDEX. That is a number among pods of
// one kind, and says nothing of a job: only where FLEET_SERVERS or FLEET_WORKERS speaks of one is it looked at.
const (
	envCompletion = "JOB_COMPLETION_INDEX"
	envHostname   = "HOSTNAME"
)

// podIndex is this pod's number, and the variable that says so, "" if none does.
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

// ownPlace is where this process stands in a list of endpoints by the name that it has, and the variable that has it;
// -1 if it stands nowhere, or in several places.
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

// called says whether an endpoint is at a host, or is that endpoint.
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

// firstLabel says whether an endpoint's host begins with the name of this machine: wd-ps-1.wd is wd-ps-1.
func firstLabel(endpoint, own string) bool {
	host, _, _ := strings.Cut(endpoint, ":")
	host, _, named := strings.Cut(host, ".")
	own, _, _ = strings.Cut(own, ".")
	_, err := strconv.Atoi(own) // an address
	return named && err != nil && strings.EqualFold(host, own)
}

// unpaired says of a pod that has a number and trains alone what would make it one of several.
func (e env) unpaired() string {
	if n := strings.TrimSpace(e(envCompletion)); n != "" {
		return fmt.Sprintf("pod %s has %s=%s and trains alone; %s makes it one of several", e(envHostname),
			envCompletion, n, envFleetServers)
	}
	return ""
}
