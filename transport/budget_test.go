package transport

import (
	"math"
	"math/rand/v2"
	"testing"
)

func (t *ticket) called() bool {
	select {
	case <-t.turn:
		return true
	default:
		return false
	}
}

// TestBudgetTurns walks through who waits and who does not.
func TestBudgetTurns(t *testing.T) {
	const limit = 1 << 20
	const half, most = limit / 2, limit * 3 / 4
	var b budget
	for range 2 {
		if b.charge(half, limit) != nil {
			t.Fatal("two halves should fit")
		}
	}
	first, second := b.charge(most, limit), b.charge(half, limit)
	if first == nil || second == nil {
		t.Fatal("there is no room, and nobody waits")
	}
	if b.charge(smallMessage, limit) != nil {
		t.Error("a heartbeat waits")
	}
	b.give(smallMessage, limit)
	b.give(half, limit)
	if first.called() || second.called() {
		t.Error("the second overtook the first, or there is room for three quarters in a half")
	}
	b.give(half, limit)
	if !first.called() || second.called() {
		t.Error("it was the first one's turn")
	}
	if b.giveUp(first, limit) {
		t.Error("the first gave up after its turn had come, and was told that it was in time")
	}
	b.give(most, limit)
	if !second.called() {
		t.Error("it was the second one's turn")
	}
	b.give(half, limit)
	if b.used != 0 {
		t.Errorf("%d bytes are left behind", b.used)
	}
}

// TestBudgetGivingUp lets the first in the queue give up; the one behind it is smaller and fits.
func TestBudgetGivingUp(t *testing.T) {
	const limit = 1 << 20
	var b budget
	b.charge(limit/2, limit)
	large, small := b.charge(limit, limit), b.charge(limit/4, limit)
	if small == nil {
		t.Fatal("the small one overtook")
	}
	if !b.giveUp(large, limit) || !small.called() {
		t.Error("nobody stands before the small one any more, and it still waits")
	}
}

// TestBudgetOverLimit charges more than there is: it goes alone.
func TestBudgetOverLimit(t *testing.T) {
	const limit = 1 << 20
	var b budget
	if b.charge(5*limit, limit) != nil {
		t.Fatal("with nobody else about it should go")
	}
	next := b.charge(limit/8, limit)
	if next == nil {
		t.Fatal("there was room beside it")
	}
	b.give(5*limit, limit)
	if !next.called() || b.used != limit/8 {
		t.Errorf("%d bytes used", b.used)
	}
}

// TestBudgetNeverOver runs random takers, givers and those who give up against a plain sum.
func TestBudgetNeverOver(t *testing.T) {
	const limit = 1 << 20
	rng := rand.New(rand.NewPCG(1, 2))
	var b budget
	type holder struct {
		n int
		t *ticket
	}
	var holding, waiting []holder
	for step := range 20_000 {
		switch n := smallMessage + 1 + rng.IntN(limit); {
		case rng.IntN(2) == 0:
			h := holder{n, b.charge(n, limit)}
			if h.t == nil {
				holding = append(holding, h)
			} else {
				waiting = append(waiting, h)
			}
		case rng.IntN(4) == 0 && len(waiting) > 0:
			i := rng.IntN(len(waiting))
			if !b.giveUp(waiting[i].t, limit) {
				t.Fatalf("step %d: one whose turn had come was still among those that wait", step)
			}
			waiting = append(waiting[:i:i], waiting[i+1:]...)
		case len(holding) > 0:
			i := rng.IntN(len(holding))
			b.give(holding[i].n, limit)
			holding = append(holding[:i:i], holding[i+1:]...)
		}
		for len(waiting) > 0 && waiting[0].t.called() {
			holding, waiting = append(holding, waiting[0]), waiting[1:]
		}
		sum := int64(0)
		for _, h := range holding {
			sum += min(int64(h.n), limit)
		}
		if sum != b.used || sum > limit {
			t.Fatalf("step %d: %d bytes are held, %d charged, the bound is %d", step, sum, b.used, limit)
		}
		if len(waiting) > 0 && sum+min(int64(waiting[0].n), limit) <= limit {
			t.Fatalf("step %d: there is room for the first, and it waits", step)
		}
	}
}

// TestInFlight is a quarter of the smaller limit.
func TestInFlight(t *testing.T) {
	for _, c := range []struct{ runtime, system, want int64 }{
		{math.MaxInt64, 0, 4 << 30}, {2 << 30, 0, 512 << 20}, {math.MaxInt64, 64 << 30, 16 << 30}, {1 << 30, 64 << 30, 256 << 20}, {64 << 30, 1 << 30, 256 << 20},
	} {
		if got := inFlight(c.runtime, c.system); got != c.want {
			t.Errorf("limits of %d and %d: %d bytes may be in flight, want %d", c.runtime, c.system, got, c.want)
		}
	}
	if (&FastHTTP{}).maxInFlight() < 1<<20 {
		t.Error("nothing may be in flight")
	}
}
