package fleet

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/gofleet/gofleet/internal/mistyped"
)

// variables are gofleet's own, with the packages that read them.
var variables = []string{
	"FLEET_CLUSTER", "FLEET_INSECURE", "FLEET_LISTEN", "FLEET_TLS_DIR", "FLEET_TOKEN", // transport
	"FLEET_RENDEZVOUS", // rolemaker
	"FLEET_PROGRESS",   // nn
}

// checkVariables refuses a variable whose name is nearly that of one that is read: a token that nobody looks at protects nothing. Others
// that begin like ours are warned of, once; what Kubernetes sets for a service of the name "fleet" is its own.
func checkVariables(log *slog.Logger) error {
	var strange []string
	for _, name := range mistyped.Unread("FLEET_", variables) {
		if meant := mistyped.Near(name, variables); meant != "" {
			return fmt.Errorf("fleet: %s is set, which nothing reads: %s is meant? unset the one, or set the other", name, meant)
		}
		if !strings.Contains(name, "_SERVICE_") && !strings.Contains(name, "_PORT") {
			strange = append(strange, name)
		}
	}
	if strange != nil {
		warnVariables.Do(func() {
			log.Warn("variables that begin with FLEET_ and that gofleet doesn't read", "variables", strange, "read", variables)
		})
	}
	return nil
}

var warnVariables sync.Once
