package dataset

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
)

// Ahead or not, the same batches come out, and the goroutine is gone when the loop is: a bubble of synctest fails
// otherwise.
func TestPrefetchEndsWithItsLoop(t *testing.T) {
	want := xs(t, numbers(50), 3)
	for _, stopAfter := range []int{0, 1, 2, 5, 17, 99} {
		for _, ahead := range []int{1, 2, 40} {
			synctest.Test(t, func(t *testing.T) {
				var got []int64
				n := 0
				for batch, err := range numbers(50).Prefetch(ahead).Batches(3) {
					law.Check(t, err)
					if n == stopAfter {
						break
					}
					got = append(got, batch["x"].Data().([]int64)...)
					n++
				}
				if rows := min(3*stopAfter, 50); !slices.Equal(got, want[:rows]) {
					t.Errorf("ahead %d, stop after %d: %v", ahead, stopAfter, got)
				}
			})
		}
	}
}

// Ahead means ahead: while the loop holds the first batch, the next ones are made, and no more than were asked for.
func TestPrefetchIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		d := numbers(100).Map(func(Batch) error { made++; return nil }).Prefetch(3)
		n := 0
		for _, err := range d.Batches(5) {
			law.Check(t, err)
			n++
			synctest.Wait()
			if want := min(n+3, 20); made != want {
				t.Fatalf("batch %d: %d made, want %d", n, made, want)
			}
		}
	})
}

// A loop that panics does not leave the goroutine behind.
func TestPrefetchSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		for range numbers(100).Prefetch(2).Batches(5) {
			panic("in the loop")
		}
	})
}

// The reader is closed once, after the goroutine is done with it.
func TestReaderIsClosed(t *testing.T) {
	for _, ahead := range []int{0, 2} {
		for _, stop := range []bool{false, true} {
			source := &closing{Source: numbers(20).source}
			for range New(source).Prefetch(ahead).Batches(3) {
				if stop {
					break
				}
			}
			if source.open != 0 || source.opened != 1 {
				t.Errorf("ahead %d, stop %v: %d readers open of %d", ahead, stop, source.open, source.opened)
			}
		}
	}
}

type closing struct {
	Source
	open, opened int
}

func (c *closing) Open(epoch int) (Reader, error) {
	r, err := c.Source.Open(epoch)
	c.open++
	c.opened++
	return &closingReader{r, c}, err
}

type closingReader struct {
	Reader
	c *closing
}

func (r *closingReader) Close() error {
	r.c.open--
	return r.Reader.Close()
}

// TestSlowRowsEndWithTheirContext: a loop over rows that take long to make ends soon after its context, in the middle of a batch.
func TestSlowRowsEndWithTheirContext(t *testing.T) {
	for _, ahead := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			began := time.Now()
			slow := func(i int, row Row) error { time.Sleep(20 * time.Millisecond); return nil }
			for _, err := range Generate(4000, slow, Floats("x")).Prefetch(ahead).BatchesContext(ctx, 2048) {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("prefetching %d: %v", ahead, err)
				}
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("prefetching %d: it ends after %v", ahead, took)
			}
		})
	}
}
