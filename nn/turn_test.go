package nn

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// remembering is a keeper that knows of steps before.
type remembering struct {
	*keeper
	number uint64
	known  bool
}

func (c remembering) Made(thread, threads int) (int, uint64, bool) { return 0, c.number, c.known }

// TestTurns: executors take turns, and begin where the trainer says. A checkpoint that does not say how many steps it has is told once,
// if something is drawn.
func TestTurns(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	first := func(c remembering) []float32 {
		g := NewGraph(1)
		y := Dropout(g.Parameter(ParameterOptions{Name: "w"}, 64), 0.5)
		c.keeper = newKeeper(t, 0)
		Mean(y).Bind(c)
		a, b := NewExecutor(g), NewExecutor(g)
		out := append([]float32(nil), must(t, a, nil, y)[0].Float32s()...)
		if near(must(t, b, nil, y)[0].Float32s(), out, 0, 0) == nil {
			t.Error("another executor drops in the second step what the first did in the first")
		}
		return out
	}
	if near(first(remembering{number: 4, known: true}), first(remembering{known: true}), 0, 0) == nil {
		t.Error("a job that goes on drops what it dropped in its first step")
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log.String())
	}
	first(remembering{})
	if n := strings.Count(log.String(), "does not say how many steps it has"); n != 1 {
		t.Errorf("told %d times: %s", n, log.String())
	}
}
