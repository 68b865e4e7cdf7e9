package fleet

import (
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/gofleet/gofleet/internal/mistyped"
)

// checkVariables refuses a variable that is probably a mistyped one of gofleet's. Others that begin like ours are
// warned of, once.
func checkVariables(log *slog.Logger) error {
	strange, err := mistyped.CheckOurs()
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	if strange != nil {
		warnVariables.Do(func() {
			log.Warn("variables that begin with FLEET_ and that gofleet doesn't read", "variables", strange, "read",
				mistyped.Ours())
		})
	}
	return nil
}

var warnVariables sync.Once

// startedAgain says whether this process is started again however it ends, as what starts it has to say: a pod does not
// show whether it is a StatefulSet's or an operator's.
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
