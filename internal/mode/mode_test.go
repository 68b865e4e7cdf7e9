package mode

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/script"
)

// TestScripts runs every script of testdata: a line is a message to a server's half, "->" what it must answer, or a part of it.
//
// Promise: [G2] rounds close in the order that scripts say
//
// Promise: [G8] a push of a round that is over is refused
func TestScripts(t *testing.T) {
	script.Play(t, "*.txt", func(t *testing.T, lines iter.Seq[script.Line]) {
		var s Server
		for l := range lines {
			switch l.Words[0] {
			case "workers":
				s = NewSync(script.Number(t, l.Words[1]))
			case "async":
				s = new(Async)
			case "ssp":
				s = NewSSP(script.Number(t, l.Words[1]), script.Number(t, l.Words[2]))
			default:
				got := play(t, s, l.Words)
				if l.Want != "" && strings.Contains(got, l.Want) {
					continue
				}
				l.Check(t, got)
			}
		}
	})
}

// play gives one message to the half and returns its answer in the script's words.
func play(t *testing.T, s Server, words []string) string {
	var apply []int
	var err error
	switch words[0] {
	case "push":
		apply, err = s.Push(script.Number(t, words[1]), round(t, words[2]))
	case "park":
		apply, err = s.Park(script.Number(t, words[1]), round(t, words[2]))
	case "leave":
		apply = s.Leave(script.Number(t, words[1]), false)
	case "forget":
		apply = s.Leave(script.Number(t, words[1]), true)
	case "open":
		return unless(s.Open() == round(t, words[1]), s.Open())
	case "awaits":
		return Awaits(s, round(t, words[1]))
	case "missing":
		return unless(fmt.Sprint(s.Missing()) == "["+strings.Join(words[1:], " ")+"]", s.Missing())
	case "reached":
		return unless(s.Reached(round(t, words[1])) == (words[2] == "yes"), s.Open())
	default:
		t.Fatalf("unknown message %q", words[0])
	}
	if err != nil {
		return err.Error()
	}
	if len(apply) == 0 {
		return ""
	}
	answer := "apply " + strings.Trim(fmt.Sprint(apply), "[]")
	s.Applied(apply)
	return answer
}

// TestRoundIsReachedAfterItsUpdate: a round that has closed is not reached before its update is in the tables.
func TestRoundIsReachedAfterItsUpdate(t *testing.T) {
	for name, s := range map[string]Server{"sync": NewSync(1), "ssp": NewSSP(1, 0)} {
		apply, err := s.Push(0, At(0, 0))
		if err != nil || len(apply) != 1 || s.Reached(At(0, 1)) {
			t.Errorf("%s: %v, %v, reached %t before the update", name, apply, err, s.Reached(At(0, 1)))
		}
		if s.Applied(apply); !s.Reached(At(0, 1)) {
			t.Errorf("%s: not reached after the update", name)
		}
	}
	s := NewSync(2) // the phase turns while an update is on its way
	s.Push(0, At(0, 0))
	apply, _ := s.Push(1, At(0, 0))
	apply = append([]int(nil), apply...)
	s.Leave(0, true)
	s.Leave(1, true)
	if s.Reached(At(0, 1)) {
		t.Error("reached while the update is on its way")
	}
	if s.Applied(apply); !s.Reached(At(1, 0)) {
		t.Error("not reached after the update")
	}
}

func unless(ok bool, got any) string {
	if ok {
		return ""
	}
	return fmt.Sprint("it is ", got)
}

func TestWorkerHalfCountsRounds(t *testing.T) {
	var w Worker
	w.Pushed()
	w.Pushed()
	if w.Round() != At(0, 2) {
		t.Errorf("after two pushes: %v", w.Round())
	}
	w.Parked()
	if w.Round() != At(1, 0) {
		t.Errorf("after parking: %v", w.Round())
	}
}

// TestCopiesCount: a worker begins behind as many updates as workers have made on average, also of a process that took another's place.
func TestCopiesCount(t *testing.T) {
	c := NewCopies(2)
	c.Begin(10)
	for _, made := range []Round{4, 0, 3} {
		if apply, err := c.Push(1, made); err != nil || len(apply) != 1 || apply[0] != 1 {
			t.Errorf("a push applies %v, error %v", apply, err)
		}
	}
	again := NewCopies(2)
	again.Resume(c.State())
	again.Played([]int{0}, 3)
	if c.Open() != 13 || again.Open() != 15 {
		t.Errorf("workers begin behind %d updates, and %d, want 13 and 15", c.Open(), again.Open())
	}
}
