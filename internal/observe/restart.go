package observe

import (
	"fmt"
	"os"
	"strconv"
)

// WentBack is the default status, EX_TEMPFAIL of sysexits.h.
const WentBack = 75

// restartVar selects another status, for supervisors that restart roles by the status alone.
const restartVar = "FLEET_EXIT_RESTART"

// Restart returns the exit status of a program whose job goes back to its last checkpoint. 0, 1 and 2 have other
// meanings.
func Restart() (int, error) {
	text := os.Getenv(restartVar)
	if text == "" {
		return WentBack, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 3 || n > 255 {
		return WentBack, fmt.Errorf("%s is %q; it must be a number from 3 to 255", restartVar, text)
	}
	return n, nil
}
