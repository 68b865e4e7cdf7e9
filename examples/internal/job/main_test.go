package job

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/fleet"
)

// TestStatus: a program says whether starting it again from the last checkpoint helps.
func TestStatus(t *testing.T) {
	for want, err := range map[int]error{1: errors.New("no such file"), 75: fmt.Errorf("worker 1: %w", fleet.ErrWentBack),
		2: usage{errors.New("-batch=x")}} {
		if got := status(err); got != want {
			t.Errorf("%v ends a program with status %d, want %d", err, got, want)
		}
	}
}
