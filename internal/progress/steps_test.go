package progress

import "testing"

// TestSteps: a thread's steps go on over epochs and checkpoints; one of which nothing is known begins behind all others where there were
// other numbers of threads or workers, and at 0 beside threads that are known.
func TestSteps(t *testing.T) {
	is := func(k *Tracker, number, of int, want uint64) {
		t.Helper()
		if made := k.Steps(number, of); made != want {
			t.Errorf("thread %d of %d has made %d steps, want %d", number, of, made, want)
		}
	}
	var k Tracker
	is(&k, 0, 1, 0)
	k.Trained(0, 1, 4, 1)
	k.Begin(1)
	k.Trained(0, 0, 4, 2)
	is(&k, 0, 1, 2)
	is(&k, 0, 3, 2)
	k.Trained(0, 3, 4, 3)
	is(&k, 1, 3, 2)
	k.Begin(2)

	var again Tracker
	again.Resume(k.All(), 2) // at the end of epoch 1
	is(&again, 0, 3, 3)
	is(&again, 1, 3, 0)
	is(&again, 0, 2, 3)
	if at := again.All(); len(at) != 1 || at[0].Steps != 3 {
		t.Errorf("before it trains its positions are %v", at)
	}
	again.Resume(nil, 2)
	again.After(MostSteps([][]Position{nil, k.All()}))
	is(&again, 0, 1, 3)
}
