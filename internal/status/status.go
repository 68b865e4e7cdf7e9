// Package status says by which status a program asks to be started again.
package status

import (
	"fmt"
	"os"
	"strconv"
)

// WentBack is the usual one, EX_TEMPFAIL of sysexits.h.
const WentBack = 75

// restartVar chooses another, for what starts roles again by the status alone.
const restartVar = "FLEET_EXIT_RESTART"

// Restart is the status of a program whose job goes back to its last checkpoint. 0, 1 and 2 say other things.
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
