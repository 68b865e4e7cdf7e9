package roster

import (
	"slices"
	"testing"
	"time"
)

// members of a letter each: "a" is in the job, "l" late in it, "f" fenced, "e" has said that it ends, "d" is dead, "x" has stopped, and
// "-" has not joined. Each has been heard at the time 0.
func cast(letters string) *Roster {
	r := New(Options{Workers: len(letters), Timeout: 10 * time.Second, Start: time.Minute, Heartbeat: time.Second, Back: 5 * time.Minute})
	for w, is := range letters {
		m := &r.members[w]
		*m = member{state: alive, life: 1, seen: time.Unix(0, 0)}
		switch is {
		case 'l':
			m.late = true
		case 'f':
			m.fenced = true
		case 'e':
			m.ends = "tired"
		case 'd':
			m.state = dead
		case 'x':
			m.state = left
		case '-':
			*m = member{}
		}
	}
	return r
}

func at(seconds float64) time.Time { return time.Unix(0, int64(seconds*1e9)) }

// TestWhoSavesBefore: of those in the job the lowest, and none that is late before one that is not.
func TestWhoSavesBefore(t *testing.T) {
	for _, c := range []struct {
		members string
		worker  int
		want    []int
	}{
		{"aaa", 0, nil},
		{"aaa", 2, []int{0, 1}},
		{"laa", 0, []int{1, 2}},
		{"laa", 1, nil},
		{"laa", 2, []int{1}},
		{"lla", 1, []int{0, 2}},
		{"lla", 2, nil},
		{"feaa", 3, []int{2}},
		{"dx-a", 3, nil},
		{"lfdl", 3, []int{0}},
	} {
		r := cast(c.members)
		if got := r.Savers.before(c.worker); !slices.Equal(got, c.want) {
			t.Errorf("%s: before worker %d: %v, want %v", c.members, c.worker, got, c.want)
		}
		if got := r.Savers.Saves(c.worker); got != (c.want == nil) {
			t.Errorf("%s: worker %d saves: %t", c.members, c.worker, got)
		}
	}
}

// TestWhoSavesALastTime: such a life is in nobody's way, another life of the same worker is.
func TestWhoSavesALastTime(t *testing.T) {
	r := cast("aa")
	s := r.Savers
	if s.Saves(1) {
		t.Error("worker 1 saves before worker 0 leaves")
	}
	if !s.Leave(0, 1) || s.Leave(0, 1) || !slices.Equal(s.Leaving(), []uint32{1, 0}) {
		t.Errorf("leaving: %v", s.Leaving())
	}
	if !s.Saves(1) {
		t.Error("worker 1 does not save when worker 0 saves a last time")
	}
	r.members[0].life = 2
	if s.Saves(1) {
		t.Error("worker 1 saves before another life of worker 0")
	}
}

// TestOthersThatSave: goesOn says that one before goes on, departs that one which ends is still heard.
func TestOthersThatSave(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     func(s *Savers)
		now     float64
		goesOn  bool
		departs bool
	}{
		{"all go on", func(*Savers) {}, 1, true, false},
		{"one was asked", func(s *Savers) { s.Asked(0, true) }, 1, true, true},
		{"both were asked", func(s *Savers) { s.Asked(0, true); s.Asked(1, true) }, 1, false, true},
		{"both are silent", func(s *Savers) { s.Asked(0, true); s.Asked(1, true) }, 3, false, false},
		{"both save a last time", func(s *Savers) { s.Leave(0, 1); s.Leave(1, 1) }, 2.9, false, true},
		{"none was asked", func(s *Savers) { s.Asked(0, false); s.Asked(1, false) }, 1, true, false},
	} {
		r := cast("aaa")
		c.set(r.Savers)
		if goesOn, departs := r.Savers.Others(2, at(c.now)); goesOn != c.goesOn || departs != c.departs {
			t.Errorf("%s: %t, %t, want %t, %t", c.name, goesOn, departs, c.goesOn, c.departs)
		}
	}
	if goesOn, departs := cast("aaa").Savers.Others(0, at(1)); goesOn || departs {
		t.Errorf("before worker 0: %t, %t", goesOn, departs)
	}
}

// TestDeparting: a worker that was asked to end, has not ended and is heard.
func TestDeparting(t *testing.T) {
	for members, want := range map[string]bool{"a": true, "l": true, "f": true, "e": false, "d": false, "x": false} {
		r := cast(members)
		if r.Savers.Departing(at(1)) {
			t.Errorf("%s departs before it was asked", members)
		}
		r.Savers.Asked(0, true)
		if got := r.Savers.Departing(at(1)); got != want {
			t.Errorf("%s was asked: departing is %t", members, got)
		}
		if r.Savers.Departing(at(3)) {
			t.Errorf("%s is silent, and departs", members)
		}
	}
}

// TestBeatsBehindACall: a call that says a worker ends is sure for one heartbeat, which may have been sent before it.
func TestBeatsBehindACall(t *testing.T) {
	s := cast("a").Savers
	s.Asked(0, true)
	for i, want := range []bool{true, false, false} {
		s.Beats(0, false)
		if got := s.Departing(at(1)); got != want {
			t.Errorf("after %d heartbeats: %t", i+1, got)
		}
	}
	if s.Beats(0, true); !s.Departing(at(1)) {
		t.Error("a heartbeat that says so says nothing")
	}
	if s.Beats(0, false); s.Departing(at(1)) {
		t.Error("a heartbeat alone is sure")
	}
}
