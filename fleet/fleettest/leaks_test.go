package fleettest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
)

// told is a test that keeps its errors instead of failing, and ends when it is asked to.
type told struct {
	testing.TB
	name   string
	errors []string
	end    func()
}

func (t *told) Name() string { return t.name }

func (t *told) Cleanup(f func()) { t.end = f }

func (t *told) Helper() {}

func (t *told) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// TestGoroutinesThatAreLeft: a test fails for a goroutine of the module that one of its clusters leaves, however that was begun,
// and never for a goroutine of another test's.
func TestGoroutinesThatAreLeft(t *testing.T) {
	t.Parallel()
	var left sync.WaitGroup
	defer left.Wait()
	begun, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	wait := func() { begun <- struct{}{}; <-release }
	for _, c := range []struct {
		name   string
		begin  func()
		errors int
	}{
		{"a go statement", func() { left.Add(1); go func() { defer left.Done(); wait() }() }, 1},
		{"a WaitGroup", func() { left.Go(wait) }, 1},
		{"a child's child", func() { left.Go(func() { left.Go(wait) }) }, 1},
		{"nothing, while the others' goroutines are there", func() {}, 0},
	} {
		watcher, begin := &told{TB: t, name: c.name}, c.begin
		run := func(ctx context.Context) error {
			return Cluster{Workers: 1}.run(t, ctx, func(context.Context, *fleet.Fleet) error {
				begin()
				return nil
			})
		}
		err := watched(watcher, time.Millisecond, run)
		for range c.errors {
			<-begun
		}
		begin = func() {}
		err = errors.Join(err, watched(watcher, time.Millisecond, run)) // a cluster of the same test behind it
		watcher.end()
		if err != nil || len(watcher.errors) != c.errors {
			t.Errorf("%s: %v, and errors %q, want %d", c.name, err, watcher.errors, c.errors)
		}
		for _, text := range watcher.errors {
			if !strings.Contains(text, "TestGoroutinesThatAreLeft") {
				t.Errorf("%s: the error doesn't say where the goroutine is: %s", c.name, text)
			}
		}
	}
}

// TestABubbleEndsWithAllItsGoroutines: what a simulated cluster leaves never outlives its test, which panics.
func TestABubbleEndsWithAllItsGoroutines(t *testing.T) {
	t.Parallel()
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "blocked goroutines remain") {
			t.Errorf("a simulation that left a goroutine ended with %q", said)
		}
	}()
	Cluster{Workers: 1}.Simulate(t, nil, func(context.Context, *fleet.Fleet) error {
		go func() { <-make(chan struct{}) }()
		return nil
	})
}
