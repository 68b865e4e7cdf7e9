package progress

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPositions: a later one takes the place of one before, and servers that differ agree on what is behind.
func TestPositions(t *testing.T) {
	var at []Position
	for _, p := range []Position{{2, 3, 0, 9, 0, ""}, {0, 3, 0, 5, 0, ""}, {2, 3, 0, 7, 0, ""}, {0, 3, 1, 4, 0, ""}} {
		at = Moved(at, p)
	}
	if want := []Position{{0, 3, 1, 4, 0, ""}, {2, 3, 0, 7, 0, ""}}; !slices.Equal(at, want) {
		t.Errorf("positions are %v, want %v", at, want)
	}
	other := []Position{{0, 3, 0, 8, 0, ""}, {1, 3, 0, 1, 0, ""}, {2, 3, 0, 8, 0, ""}}
	want := []Position{{0, 3, 0, 8, 0, ""}, {2, 3, 0, 7, 0, ""}}
	if a, b := Lowest(at, other), Lowest(other, at); !slices.Equal(a, want) || !slices.Equal(b, want) {
		t.Errorf("the lowest are %v and %v, want %v", a, b, want)
	}
	want = []Position{{0, 3, 1, 4, 0, ""}, {1, 3, 0, 1, 0, ""}, {2, 3, 0, 8, 0, ""}}
	if a, b := Furthest(at, other), Furthest(other, at); !slices.Equal(a, want) || !slices.Equal(b, want) {
		t.Errorf("the furthest are %v and %v, want %v", a, b, want)
	}
	two := []Position{{0, 2, 1, 3, 0, ""}}
	if a, b := Furthest(at, two), Furthest(two, at); !slices.Equal(a, at) || !slices.Equal(b, at) ||
		!slices.Equal(Furthest(nil, two), two) {
		t.Errorf("of other numbers of threads the furthest are %v and %v, want %v", a, b, at)
	}
	if got := Moved(slices.Clone(at), Position{}); len(got) > 0 {
		t.Errorf("where nothing is known they are %v", got)
	}
	if got := Moved(at, Position{0, 1, 1, 6, 0, ""}); !slices.Equal(got, []Position{{0, 1, 1, 6, 0, ""}}) {
		t.Errorf("with another number of threads they are %v", got)
	}
}

// TestEverySampleOnce: a worker trains for some epochs with some threads, dies anywhere and goes on from a position that some of its
// threads had, as often as it likes: every thread trains on every sample of its share once. Now counts what is trained.
func TestEverySampleOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads, epochs, batch := rapid.IntRange(1, 3).Draw(t, "threads"), 3, rapid.IntRange(1, 4).Draw(t, "batch")
		share := rapid.IntRange(0, 12).Draw(t, "share")
		trained := make([][]int, threads) // by thread and sample, over all epochs
		for i := range trained {
			trained[i] = make([]int, epochs*share)
		}
		var saved []Position
		for begin, dies := 0, true; dies; {
			steps := rapid.IntRange(0, 30).Draw(t, "steps")
			var tracker Tracker
			tracker.Resume(saved, begin)
			begin, dies = live(t, &tracker, &saved, trained, begin, epochs, share, batch, steps)
		}
		for thread, samples := range trained {
			for i, n := range samples {
				if n != 1 {
					t.Fatalf("sample %d of epoch %d of thread %d was trained %d times", i%share, i/share, thread, n)
				}
			}
		}
	})
}

// live is one life of a worker, from an epoch on, which dies after so many steps in an epoch that it is told when it begins again.
func live(t *rapid.T, tracker *Tracker, saved *[]Position, trained [][]int, begin, epochs, share, batch,
	steps int) (epoch int, dies bool) {
	threads := len(trained)
	for epoch = begin; epoch < epochs; epoch++ {
		tracker.Begin(epoch)
		at := make([]int, threads)
		for slices.Min(at) < share {
			h := rapid.IntRange(0, threads-1).Draw(t, "thread")
			n := min(batch, share-at[h])
			if n == 0 {
				continue
			}
			if !tracker.Passed(h, threads, n) {
				if steps == 0 {
					return rapid.IntRange(begin, epoch).Draw(t, "told"), true
				}
				steps--
				for i := range n {
					trained[h][epoch*share+at[h]+i]++
				}
				*saved = Moved(*saved, tracker.Trained(h, threads, n, 0))
			}
			at[h] += n
			if e, samples := tracker.Now(); e == epoch && samples < uint64(at[h]) {
				t.Fatalf("thread %d is at sample %d, all together at %d", h, at[h], samples)
			}
		}
	}
	return epoch, false
}

// TestTracker: what a loop that asks for nothing is at, and what is done with positions that don't fit.
func TestTracker(t *testing.T) {
	now := func(t *testing.T, k *Tracker, epoch int, samples uint64) {
		t.Helper()
		if e, n := k.Now(); e != epoch || n != samples {
			t.Errorf("the worker is at sample %d of epoch %d, want %d of %d", n, e, samples, epoch)
		}
	}
	at := func(t *testing.T, k *Tracker, want ...Position) {
		t.Helper()
		if !slices.Equal(k.All(), want) {
			t.Errorf("positions are %v, want %v", k.All(), want)
		}
	}
	half := []Position{{0, 2, 3, 40, 0, ""}, {1, 2, 3, 30, 0, ""}}
	t.Run("begins where Now said", func(t *testing.T) {
		var k Tracker
		k.Resume([]Position{{0, 1, 3, 70, 0, ""}}, 3)
		now(t, &k, 3, 70)
		if p := k.Trained(0, 0, 10, 0); p != (Position{0, 1, 3, 80, 0, ""}) {
			t.Errorf("the position is %v", p)
		}
		now(t, &k, 3, 80)
		k.Begin(3)
		now(t, &k, 3, 80)
		k.Begin(4)
		now(t, &k, 4, 0)
	})
	t.Run("threads", func(t *testing.T) {
		var k Tracker
		k.Resume(half, 3)
		now(t, &k, 3, 70)
		k.Trained(1, 2, 5, 0)
		now(t, &k, 3, 75)
		at(t, &k, Position{0, 2, 3, 40, 0, ""}, Position{1, 2, 3, 35, 0, ""})
		k.Begin(4)
		at(t, &k, Position{0, 2, 3, 40, 0, ""}, Position{1, 2, 3, 35, 0, ""})
		k.Trained(0, 2, 6, 0)
		at(t, &k, Position{0, 2, 4, 6, 0, ""}, Position{1, 2, 3, 35, 0, ""})
	})
	t.Run("an epoch that was over is trained again", func(t *testing.T) {
		var k Tracker
		k.Resume([]Position{{0, 1, 3, 70, 0, ""}}, 2)
		now(t, &k, 3, 70)
		k.Trained(0, 1, 5, 0)
		now(t, &k, 2, 5)
		if k.Begin(3); k.Passed(0, 1, 5) {
			t.Error("the next epoch is not trained")
		}
	})
	t.Run("another number of threads", func(t *testing.T) {
		told := 0
		var k Tracker
		k.Unlike(func(saved, now int) { told = 10*saved + now })
		k.Resume(half, 3)
		if k.Passed(0, 1, 5) || told != 21 {
			t.Errorf("a batch was passed, or told %d, want 21", told)
		}
	})
	t.Run("several as one thread", func(t *testing.T) {
		var k Tracker
		leave := k.Enter(0, 0)
		k.Trained(0, 0, 5, 0)
		at(t, &k, Position{0, 1, 0, 5, 0, ""})
		another := k.Enter(0, 1)
		if p := k.Trained(0, 0, 5, 7); p != (Position{0, 1, 0, 0, 7, ""}) {
			t.Errorf("the position is %v", p)
		}
		leave()
		at(t, &k, Position{0, 1, 0, 0, 7, ""}) // steps count, samples don't
		k.Begin(1)
		k.Trained(0, 0, 5, 8)
		at(t, &k, Position{0, 1, 1, 5, 8, ""})
		another()
	})
	t.Run("larger batches", func(t *testing.T) {
		var k Tracker
		k.Resume([]Position{{0, 1, 3, 70, 0, ""}}, 3)
		if !k.Passed(0, 1, 40) || k.Passed(0, 1, 40) || k.Passed(0, 1, 10) {
			t.Error("a batch that is not in the weights as a whole was passed, or one that is was not")
		}
		now(t, &k, 3, 40)
	})
}
