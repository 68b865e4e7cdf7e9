package profiled

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
)

// TestSet: a goroutine has the labels that it was given last, with those of its context, and so have those that it starts; profiles are counted.
func TestSet(t *testing.T) {
	shown := func() string {
		var text bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	ended := make(chan struct{})
	pprof.Do(t.Context(), pprof.Labels("user", "own"), func(ctx context.Context) {
		Set(ctx, "op", "step", "worker", "3", "table", "users")
		Set(ctx, "op", "push", "worker", "4")
		begun := make(chan struct{})
		go func() { close(begun); <-ended }()
		<-begun
		if text := shown(); !strings.Contains(text, `{"op":"push", "user":"own", "worker":"4"}`) || strings.Contains(text, "users") {
			t.Error(text)
		}
		Set(ctx)
		if text := shown(); !strings.Contains(text, `{"user":"own"}`) {
			t.Error(text)
		}
	})
	close(ended)
	if On() {
		t.Error("a profile is taken before any is")
	}
	one, two := Take(), Take()
	if one(); !On() {
		t.Error("the second profile is not taken")
	}
	if two(); On() {
		t.Error("a profile is taken when all have ended")
	}
}

// BenchmarkOn is what a request pays at each place while no profile is taken.
func BenchmarkOn(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if On() {
			Set(b.Context(), "op", "step")
		}
	}
}
