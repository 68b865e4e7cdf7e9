package cut

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/script"
	"github.com/gofleet/gofleet/internal/wire"
)

// TestScripts plays the scripts of testdata. "server" begins one, as server 0 (first) or another, with so many workers,
// servers and frozen values; then each line is a message or a question, and "->" what the machine says: a refusal by
// its status.
func TestScripts(t *testing.T) {
	script.Play(t, "*.txt", func(t *testing.T, lines iter.Seq[script.Line]) {
		var p player
		for l := range lines {
			l.Check(t, p.play(t, l))
		}
	})
}

// player gives a machine the messages of a script, which has what a save is for in its freeze.
type player struct {
	*Machine
	saves map[string]wire.Save
}

func (p *player) play(t *testing.T, l script.Line) string {
	words := l.Words
	number := func(i int) int { return script.Number(t, words[i]) }
	switch words[0] {
	case "server":
		p.saves = map[string]wire.Save{}
		p.Machine = New(Options{First: words[1] == "first", Workers: number(2), Servers: number(3), Values: number(4)})
		return ""
	case "holds": // worker, step
		return yes(p.Holds(number(1), uint64(number(2))))
	case "holder":
		return p.Holder()
	case "open":
		return p.Open()
	case "leave":
		return torn(p.Leave(number(1)))
	}
	id := words[1]
	msg := p.saves[id]
	msg.ID = id
	switch words[0] {
	case "free":
		return yes(p.Free(id))
	case "freeze": // id, worker, what for
		msg = meant(t, id, words[3:])
		p.saves[id] = msg
		return said("", p.Freeze(&msg, number(2)))
	case "done": // id, step
		answer, done := p.Done(id, int64(number(2)))
		return strings.TrimSpace(yes(done) + " " + strings.Trim(fmt.Sprint(answer.Freed.Rows), "[]"))
	case "name": // id, step
		answer, _ := p.Done(id, int64(number(2)))
		return answer.Period
	case "keep": // id, worker, from, how many
		return said("", p.Keep(id, number(2), number(3), make([]float32, number(4))))
	case "busy":
		return yes(p.Busy(id))
	case "save": // id, steps
		for i := range words[2:] {
			msg.Steps = append(msg.Steps, uint64(number(2+i)))
		}
		first, err := p.Reach(&msg)
		return said(map[bool]string{true: "first", false: "again"}[first], err)
	case "reached":
		err := p.Reached(id)
		return said(map[bool]string{true: "read", false: "write"}[msg.Read], err)
	case "imaged":
		p.Imaged(id)
	case "writing":
		return yes(p.Writing(id))
	case "lost":
		p.Lost(id)
	case "wrote", "failed":
		var err error
		if words[0] == "failed" {
			err = errors.New("disk is full")
		}
		if p.Wrote(id, "part of "+id, err) {
			return "remove"
		}
	case "answer":
		answer, err := p.Answer(id)
		return said(fmt.Sprint(answer), err)
	case "rows":
		_, err := p.Rows(id)
		return said("kept", err)
	case "commit": // id, parts
		msg.Parts = make([]wire.Part, number(2))
		over, err := p.Commit(&msg)
		return said(map[bool]string{true: "over", false: "go on"}[over], err)
	case "committed", "uncommitted": // id, step, rows dropped
		var err error
		if words[0] == "uncommitted" {
			err = errors.New("disk is full")
		}
		var freed wire.Freed
		if len(words) > 3 {
			freed.Rows = []int{number(3)}
		}
		p.Committed(int64(number(2)), freed, err)
	case "take":
		first, err := p.Take(id)
		return said(map[bool]string{true: "first", false: "again"}[first], err)
	case "end":
		p.End(id)
	case "mark":
		return said("begins", p.Mark(id))
	case "marking":
		return yes(p.Marking(id))
	case "marked":
		p.Marked(id)
	case "giveup": // id, worker
		return torn(p.GiveUp(&msg, number(2)))
	case "discard":
		if answer := p.Discard(&msg); answer != nil {
			return "remove " + fmt.Sprint(answer)
		}
	default:
		l.Unknown(t)
	}
	return ""
}

// meant is the message of a save for what a script says: a checkpoint in a directory, the end of a period, or to read.
func meant(t *testing.T, id string, words []string) wire.Save {
	switch words[0] {
	case "dir":
		return wire.Save{ID: id, Dir: words[1]}
	case "own":
		return wire.Save{ID: id, Progress: &wire.Progress{Epoch: script.Number(t, words[1])}}
	case "shrink":
		return wire.Save{ID: id, Shrink: &wire.Shrink{Unseen: uint32(script.Number(t, words[1]))}, Period: strings.Join(words[2:], "")}
	}
	return wire.Save{ID: id, Read: true}
}

func torn(b bool) string { return map[bool]string{true: "torn"}[b] }

func yes(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }

// said is an answer, or what is wrong.
func said(answer string, err error) string {
	switch {
	case errors.Is(err, wire.ErrStale):
		return "stale"
	case errors.Is(err, wire.ErrRefused):
		return "refused"
	case err != nil:
		return err.Error()
	}
	return answer
}

// TestFewSavesAreRemembered: however many there were, a machine knows the last ones, and the one under way however old
// it is.
func TestFewSavesAreRemembered(t *testing.T) {
	m := New(Options{First: true, Workers: 1, Servers: 1})
	if err := m.Freeze(&wire.Save{ID: "old"}, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		m.GiveUp(&wire.Save{ID: fmt.Sprint(i)}, 0)
	}
	if len(m.saves) != remembered || len(m.order) != remembered || m.Holder() != "old" {
		t.Errorf("%d saves are known, in order %d, and %q holds pushes", len(m.saves), len(m.order), m.Holder())
	}
	if err := m.Freeze(&wire.Save{ID: "999"}, 0); !errors.Is(err, wire.ErrStale) {
		t.Errorf("a save that was given up begins: error %v", err)
	}
}
