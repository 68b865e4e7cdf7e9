package mistyped

import (
	"slices"
	"strings"
)

// ours are gofleet's own variables.
var ours = []string{
	"FLEET_CLUSTER", "FLEET_INSECURE", "FLEET_LISTEN", "FLEET_TLS_DIR", "FLEET_TOKEN", // transport
	"FLEET_READ_TOKEN",
	"FLEET_ROLE", "FLEET_INDEX", "FLEET_SERVERS", "FLEET_WORKERS", "FLEET_PORT", "FLEET_ADVERTISE", // rolemaker
	"FLEET_RENDEZVOUS",
	"FLEET_PROGRESS",                                                                 // nn
	"FLEET_HEALTH", "FLEET_LOG", "FLEET_METRICS", "FLEET_RESTART", "FLEET_READ_ROWS", // fleet
	"FLEET_UI", "FLEET_UI_TOKEN",
	"FLEET_EXIT_RESTART", // fleet/train, fleet/fleetrun
}

// Ours returns the names of gofleet's own variables.
func Ours() []string { return slices.Clone(ours) }

// CheckOurs returns an error if a variable of the environment has nearly the name of one of ours: a mistyped token, for
// instance, protects nothing. strange has all other variables that begin with FLEET_, except those that Kubernetes
// sets.
func CheckOurs() (strange []string, err error) {
	for _, name := range Unread("FLEET_", ours) {
		if kubernetes(name) {
			continue
		}
		if err := Refuse("FLEET_", name, ours); err != nil {
			return nil, err
		}
		strange = append(strange, name)
	}
	return strange, nil
}

// kubernetes reports whether Kubernetes sets a variable for a service whose name is or begins with "fleet": what
// follows the prefix is such as PORT_36000_TCP, A_SERVICE_HOST or A_PORT.
func kubernetes(name string) bool {
	return strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT_") || strings.HasSuffix(name, "_PORT")
}
