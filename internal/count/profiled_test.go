package count

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
)

// TestLabel: a goroutine has the labels that it was given last, with those of its context, and so have those that it starts; profiles are counted.
func TestLabel(t *testing.T) {
	shown := func() string {
		var text bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	ended := make(chan struct{})
	pprof.Do(t.Context(), pprof.Labels("user", "own"), func(ctx context.Context) {
		Label(ctx, "op", "step", "worker", "3", "table", "users")
		Label(ctx, "op", "push", "worker", "4")
		begun := make(chan struct{})
		go func() { close(begun); <-ended }()
		<-begun
		if text := shown(); !strings.Contains(text, `{"op":"push", "user":"own", "worker":"4"}`) || strings.Contains(text, "users") {
			t.Error(text)
		}
		Label(ctx)
		if text := shown(); !strings.Contains(text, `{"user":"own"}`) {
			t.Error(text)
		}
	})
	close(ended)
	if Profiling() {
		t.Error("a profile is taken before any is")
	}
	one, two := TakeProfile(), TakeProfile()
	if one(); !Profiling() {
		t.Error("the second profile is not taken")
	}
	if two(); Profiling() {
		t.Error("a profile is taken when all have ended")
	}
}

// BenchmarkProfiling is what a request pays at each place while no profile is taken.
func BenchmarkProfiling(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if Profiling() {
			Label(b.Context(), "op", "step")
		}
	}
}
