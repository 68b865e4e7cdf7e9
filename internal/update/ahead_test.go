package update

import "testing"

// TestAhead: weights are foreseen as far as the push that asks for them came late, and a step further where workers look ahead.
func TestAhead(t *testing.T) {
	for _, c := range []struct {
		lookAhead    bool
		held, before uint64
		want         int
	}{
		{false, 7, 10, 3}, {false, 7, 7, 0}, {true, 7, 10, 7}, {true, 7, 7, 1}, {false, 11, 10, 0},
	} {
		a := Ahead{Held: c.held, LookAhead: c.lookAhead}
		if got := a.updates(c.before); got != c.want {
			t.Errorf("%+v: applied at version %d, %d updates are foreseen, want %d", a, c.before, got, c.want)
		}
	}
}
