package count

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

type meter struct {
	calls  Counter `count:"calls" name:"calls_total" help:"Calls."`
	waited Counter `count:"waited" name:"waited_seconds_total" help:"Waits."`
	token  Counter `count:"refused" name:"refused_total" by:"cause=token" help:"Refused."`
	open   Gauge   `count:"open" name:"open_round" help:"The open round."`
	//lint:ignore U1000 it is found by reflection
	idle Gauge `count:"idle" name:"idle" help:"Nothing."`
}

type stats struct {
	Calls   int64         `count:"calls"`
	Waited  time.Duration `count:"waited"`
	Nothing string
	Deeper  struct {
		Refused int64 `count:"refused"`
		Open    int64 `count:"open"`
	}
}

// TestWhatIsCounted: samples are in base units, two meters of one kind add up, and a struct for users shows the same.
func TestWhatIsCounted(t *testing.T) {
	a, b := &meter{open: func() float64 { return 7 }}, &meter{}
	a.calls.Add(3)
	b.calls.Add(4)
	a.waited.Add(int64(1500 * time.Millisecond))
	a.token.Add(2)
	want := []Sample{{"calls", "gofleet_calls_total", "", "Calls.", 3, nil}, {"waited", "gofleet_waited_seconds_total", "", "Waits.", 1.5, nil},
		{"refused", "gofleet_refused_total", "cause=token", "Refused.", 2, nil}, {"open", "gofleet_open_round", "", "The open round.", 7, nil},
		{"idle", "gofleet_idle", "", "Nothing.", 0, nil}}
	if got := slices.Collect(All(a)); !slices.Equal(got, want) {
		t.Errorf("samples %+v, want %+v", got, want)
	}
	var s stats
	s.Deeper.Refused = 1
	Fill(&s, a, b)
	if s.Calls != 7 || s.Waited != 1500*time.Millisecond || s.Deeper.Refused != 3 || s.Deeper.Open != 7 {
		t.Errorf("filled: %+v", s)
	}
	s.Calls = 0
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).LogAttrs(t.Context(), slog.LevelInfo, "so far", Attrs(s)...)
	if want := "waited=1.5s refused=3 open=7\n"; !strings.HasSuffix(log.String(), want) {
		t.Errorf("%q, want it to end in %q", log.String(), want)
	}
}

func BenchmarkCount(b *testing.B) {
	var m meter
	b.ReportAllocs()
	for b.Loop() {
		m.calls.Add(1)
	}
}
