package count

import (
	"slices"
	"testing"
	"time"
)

// TestHistogram: each value is counted once, in the first bucket whose bound it does not exceed, and a struct for users with the fields of
// a distribution gives one sample of it.
func TestHistogram(t *testing.T) {
	h := NewTimes(time.Millisecond, time.Second)
	for _, d := range []time.Duration{0, time.Millisecond, time.Millisecond + 1, time.Second, time.Hour} {
		h.Observe(int64(d))
	}
	d := h.Read(int64(time.Second))
	if !slices.Equal(d.Bounds, []float64{0.001, 1}) || !slices.Equal(d.Counts, []int64{2, 2, 1}) || d.Sum != 3601.002000001 || d.Count() != 5 {
		t.Errorf("counted %+v", d)
	}
	type shown struct {
		Bounds []float64
		Counts []int64
		Sum    float64
	}
	of := struct {
		Seconds shown `name:"took_seconds" by:"op=a" help:"Times."`
		Calls   int   `count:"calls"`
	}{Seconds: shown(d), Calls: 2}
	samples := slices.Collect(Samples(of))
	if len(samples) != 1 || samples[0].Name != "gofleet_took_seconds" || samples[0].Value != 5 || samples[0].Of == nil || samples[0].Of.Sum != d.Sum {
		t.Errorf("samples %+v", samples)
	}
	Fill(&of, &meter{}) // leaves what has no key
	if of.Seconds.Sum != d.Sum || of.Calls != 2 {
		t.Errorf("filled %+v", of)
	}
}

func TestToCountAllocatesNothing(t *testing.T) {
	h := NewTimes(time.Millisecond, time.Second)
	if n := testing.AllocsPerRun(100, func() { h.Since(time.Now()) }); n != 0 {
		t.Errorf("%v allocations a count", n)
	}
}

func BenchmarkHistogram(b *testing.B) {
	h := NewTimes(time.Millisecond, 10*time.Millisecond, 100*time.Millisecond, time.Second)
	b.ReportAllocs()
	for b.Loop() {
		h.Since(time.Now())
	}
}
