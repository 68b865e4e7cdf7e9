package observe

import (
	"strings"
	"testing"
)

// TestRestart: the status that is chosen, or what is wrong with it.
func TestRestart(t *testing.T) {
	for text, want := range map[string]int{"": 75, "138": 138, "3": 3, "0": -1, "2": -1, "256": -1, "never": -1} {
		t.Setenv(restartVar, text)
		got, err := Restart()
		if (err != nil) != (want < 0) || err == nil && got != want || err != nil && !strings.Contains(err.Error(), restartVar) {
			t.Errorf("%s=%q: %d, %v; want %d", restartVar, text, got, err, want)
		}
	}
}
