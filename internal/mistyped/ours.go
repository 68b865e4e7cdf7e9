package mistyped

import (
	"fmt"
	"slices"
	"strings"
)

// ours are gofleet's own variables.
var ours = []string{
	"FLEET_CLUSTER", "FLEET_INSECURE", "FLEET_LISTEN", "FLEET_TLS_DIR", "FLEET_TOKEN", // transport
	"FLEET_ROLE", "FLEET_INDEX", "FLEET_SERVERS", "FLEET_WORKERS", "FLEET_PORT", "FLEET_ADVERTISE", // rolemaker
	"FLEET_RENDEZVOUS",
	"FLEET_PROGRESS",                             // nn
	"FLEET_HEALTH", "FLEET_LOG", "FLEET_METRICS", // fleet
	"FLEET_EXIT_RESTART", // fleet/train, fleet/fleetrun
}

// Ours are gofleet's own variables.
func Ours() []string { return slices.Clone(ours) }

// CheckOurs refuses a variable whose name is nearly that of one of ours: a token that nobody looks at protects nothing.
// Others that begin like ours are strange; what Kubernetes sets for a service of the name "fleet" is its own.
func CheckOurs() (strange []string, err error) {
	for _, name := range Unread("FLEET_", ours) {
		if meant := Near(name, ours); meant != "" {
			return nil, fmt.Errorf("%s is set, which nothing reads: %s is meant? unset the one, or set the other", name,
				meant)
		}
		if !strings.Contains(name, "_SERVICE_") && !strings.Contains(name, "_PORT") {
			strange = append(strange, name)
		}
	}
	return strange, nil
}
