package fleet

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"

	"github.com/gofleet/gofleet/internal/mistyped"
)

// checkVariables returns an error for a variable that is probably a mistyped one of gofleet's. It warns once of other
// unknown variables that begin like gofleet's, and of one that shows nothing any more.
func checkVariables(log *slog.Logger) error {
	strange, err := mistyped.CheckOurs()
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	warnVariables.Do(func() {
		if os.Getenv("FLEET_UI") != "" {
			log.Warn("FLEET_UI shows no page any more: start all roles with FLEET_METRICS=:9100, and show them with " +
				"\"fleetrun watch HOST:9100\"")
		}
		if strange != nil {
			log.Warn("variables that begin with FLEET_ and that gofleet doesn't read", "variables", strange, "read",
				mistyped.Ours())
		}
	})
	return nil
}

var warnVariables sync.Once

// readRows is the number of rows a second that readers outside the job may read from a server; 0 means the default.
func readRows() (int, error) {
	v := os.Getenv("FLEET_READ_ROWS")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("fleet: FLEET_READ_ROWS is %q: it is how many rows a second readers may read from a "+
			"server, 1 or more; without FLEET_READ_TOKEN nobody reads", v)
	}
	return n, nil
}

// startedAgain reports whether this process is started again however it ends. The environment has to say so: a process
// in a pod can't find out whether a StatefulSet or an operator runs it.
func startedAgain() (bool, error) {
	switch policy := os.Getenv("FLEET_RESTART"); policy {
	case "":
		return false, nil
	case "always", "Always":
		return true, nil
	default:
		return false, fmt.Errorf("fleet: FLEET_RESTART is %q; it can be always, as a StatefulSet restarts, or empty",
			policy)
	}
}
