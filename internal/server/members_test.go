package server

import "testing"

// TestLivesAreBounded: a join that comes again is the same life, also when other processes have joined since, and however many
// come, few are remembered.
func TestLivesAreBounded(t *testing.T) {
	l, next := lives{}, uint32(0)
	join := func(worker uint32, process uint64) uint32 {
		number := l.of(worker, process, next+1)
		next = max(next, number)
		return number
	}
	for process := range uint64(1000) {
		number := join(3, process)
		if number != uint32(process+1) || join(3, process) != number {
			t.Fatalf("process %d has life %d", process, number)
		}
		if process > 0 && join(3, process-1) != number-1 {
			t.Fatalf("a late join of process %d begins another life", process-1)
		}
	}
	if n := len(l[3]); n != keepLives {
		t.Errorf("%d lives are remembered, want %d", n, keepLives)
	}
	if join(4, 999) != next {
		t.Error("two workers share a life")
	}
}
