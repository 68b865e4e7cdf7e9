package roster

import "testing"

// TestJobsDiffer: no two lives have one job, and neither has one that of the servers, another generation's or another job's.
//
// Promise: [G8] a second process in a worker's place is refused
// Also: TestScripts
func TestJobsDiffer(t *testing.T) {
	of := map[uint64]string{}
	add := func(what string, job uint64) {
		if of[job] != "" || job == 0 {
			t.Errorf("%s and %s have the job %x", what, of[job], job)
		}
		of[job] = what
	}
	for process := range uint64(3) {
		for fingerprint := range uint64(2) {
			g := NewGeneration(process, fingerprint)
			add("number", g.Number)
			add("servers", g.Servers())
			for worker := range uint32(3) {
				for life := range uint32(3) {
					add("life", g.Life(worker, life))
				}
			}
		}
	}
	if a, b := NewGeneration(7, 8), NewGeneration(7, 8); a != b {
		t.Errorf("one process begins %+v and %+v", a, b)
	}
}
