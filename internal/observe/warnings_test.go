package observe

import (
	"strings"
	"testing"
	"time"
)

// TestALongWarningIsText: a line that is cut ends with a whole letter, since JSON would show the rest of another as a sign of its own.
func TestALongWarningIsText(t *testing.T) {
	var w Warnings
	w.Add("", strings.Repeat("x", longestLine-1)+"é", false, time.Now())
	if text := w.Last()[0].Text; text != strings.Repeat("x", longestLine-1) {
		t.Errorf("it ends with %q", text[len(text)-3:])
	}
}
