package fleet

import (
	"fmt"
	"os"
	"strconv"
)

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
