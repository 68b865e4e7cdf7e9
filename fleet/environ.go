package fleet

import (
	"fmt"
	"log/slog"
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
