package progress

import "testing"

// TestSteps: a thread's steps go on over epochs and checkpoints; one of which nothing is known begins behind all others where there were
// other numbers of threads or workers, and at 0 beside threads that are known.
func TestSteps(t *testing.T) {
	is := func(k *Tracker, number, of int, want uint64, known bool) {
		t.Helper()
		if made, ok := k.Steps(number, of); made != want || ok != known {
			t.Errorf("thread %d of %d has made %d steps (known: %t), want %d (%t)", number, of, made, ok, want, known)
		}
	}
	var k Tracker
	is(&k, 0, 1, 0, true)
	k.Trained(0, 1, 4, 1)
	k.Begin(1)
	k.Trained(0, 0, 4, 2)
	is(&k, 0, 1, 2, true)
	is(&k, 0, 3, 2, true)
	k.Trained(0, 3, 4, 3)
	is(&k, 1, 3, 2, true)
	k.Begin(2)

	var again Tracker
	again.Resume(k.All(), 2) // at the end of epoch 1
	is(&again, 0, 3, 3, true)
	is(&again, 1, 3, 0, true)
	is(&again, 0, 2, 3, true)
	if at := again.All(); len(at) != 1 || at[0].Steps != 3 {
		t.Errorf("before it trains its positions are %v", at)
	}
	again.Resume(nil, 2)
	again.After(MostSteps([][]Position{nil, k.All()}))
	is(&again, 0, 1, 3, true)

	again.Resume([]Position{{Threads: 1, Epoch: 2, Samples: 40}}, 2) // of an earlier build
	is(&again, 0, 1, 0, false)
	again.Trained(0, 1, 4, 1)
	is(&again, 0, 1, 1, true)
}
