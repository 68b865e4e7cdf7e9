package transporttest

import (
	"testing"
	"time"
)

// SetPatience makes an exam that is going to fail do so sooner.
func SetPatience(d time.Duration) { patience = d }

// CheckLeaks is the exam's check for goroutines, for tests of the package itself.
func CheckLeaks(t *testing.T) { checkLeaks(t) }
