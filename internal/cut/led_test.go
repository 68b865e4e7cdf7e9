package cut

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/script"
	"github.com/gofleet/gofleet/internal/wire"
)

// TestLedScripts plays the scripts of testdata/led, each of which is a way in which somebody fails. "leader" begins one
// with so many servers; then a line is what comes to the leader, and "->" what it wants done and what it answers.
func TestLedScripts(t *testing.T) {
	script.Play(t, "led/leader_*.txt", func(t *testing.T, lines iter.Seq[script.Line]) {
		var p leaderPlayer
		for l := range lines {
			l.Check(t, p.play(t, l))
		}
	})
}

// TestFollowerScripts plays what comes to one server. "follower" begins a script.
//
// Promise: [G6] cuts that server 0 leads have a script for each way to fail
// Also: TestLedScripts
func TestFollowerScripts(t *testing.T) {
	script.Play(t, "led/follower_*.txt", func(t *testing.T, lines iter.Seq[script.Line]) {
		var p followerPlayer
		for l := range lines {
			l.Check(t, p.play(t, l))
		}
	})
}

// leaderPlayer keeps what the journal has, for a process that takes the leader's place.
type leaderPlayer struct {
	*Leader
	servers int
	journal []Record
	asks    map[string]*Ask
}

func (p *leaderPlayer) play(t *testing.T, l script.Line) string {
	words := l.Words
	number := func(i int) int { return script.Number(t, words[i]) }
	said := ""
	switch words[0] {
	case "leader":
		p.servers, p.journal, p.asks = number(1), nil, map[string]*Ask{}
		p.Leader = NewLeader(p.servers)
		return ""
	case "ask": // id, worker, plan; or id, and what it knows
		said = p.ask(t, words[1:])
	case "held": // server, step, steps, and after "in" what it has let in, if that is more
		a := &Answer{Number: p.last, Work: Hold, Step: int64(number(2))}
		to := &a.Steps
		for i, word := range words[3:] {
			if word == "in" {
				to = &a.In
				continue
			}
			*to = append(*to, uint64(number(3+i)))
		}
		if a.In == nil {
			a.In = a.Steps
		}
		p.Answered(number(1), a)
	case "did", "stale", "failed": // server, work, what was said
		a := &Answer{Number: p.last, Work: Work(words[2]), Stale: words[0] == "stale"}
		if rest := strings.Join(words[3:], " "); words[0] == "failed" {
			a.Err = rest
		} else {
			a.Said = []byte(rest)
		}
		p.Answered(number(1), a)
	case "all": // work, what was said
		for s := range p.servers {
			p.Answered(s, &Answer{Number: p.last, Work: Work(words[1]), Said: []byte(strings.Join(words[2:], " "))})
		}
	case "sealed":
		p.Sealed(p.last, nil)
	case "unsealed":
		p.Sealed(p.last, errors.New("disk is full"))
	case "gone": // worker
		p.Gone(number(1), "it is dead")
	case "dying":
		p.Dying()
	case "died":
		p.Died()
	case "unreachable": // server
		p.Unreachable(number(1), errors.New("no answer"))
	case "irrevocable":
		return yes(p.Irrevocable())
	case "report":
		last, under := p.Report()
		return fmt.Sprint(last, under)
	case "returns":
		p.Leader = NewLeader(p.servers)
		for _, r := range p.journal {
			p.Recall(r)
		}
		n, plan := p.Resume()
		said = fmt.Sprintf("holds %d %v; ", n, plan)
	case "rebased": // the journal begins with facts
		p.journal = p.Facts()
	case "close":
		p.Close(errors.New("the job fails"))
	default:
		l.Unknown(t)
	}
	return strings.TrimSuffix(strings.TrimPrefix(said+p.did(), "; "), "; ")
}

// ask has a worker ask for a plan, or say what it knows of it: "id knows number stage", with "ends", or "id gives up".
func (p *leaderPlayer) ask(t *testing.T, words []string) string {
	a := p.asks[words[0]]
	switch {
	case a == nil:
		a = &Ask{ID: words[0], Worker: script.Number(t, words[1])}
		var plan Plan
		for _, w := range words[2:] {
			if name, options, named := strings.Cut(w, "="); named {
				a.Deed = &progress.Deed{Name: name, What: options}
			} else {
				plan = append(plan, Work(w))
			}
		}
		a.Task = taskOf(plan...)
		p.asks[words[0]] = a
	case len(words) > 1 && words[1] == "gives":
		a.GivesUp = true
	case len(words) > 2:
		a.Number, a.Knows = uint64(script.Number(t, words[1])), Stage(slices.Index(stageNames, words[2]))
		a.Ends = len(words) > 3
	}
	ask := *a
	told := p.Ask(&ask)
	switch {
	case told.Err != nil:
		return said("", told.Err) + "; "
	case told.Anew:
		return "ask anew; "
	case told.News(&ask):
		said := strings.Join(texts(told.Said), ",")
		return strings.TrimSpace(fmt.Sprintf("%s %d %s", stageNames[told.Stage], told.Number, said)) + "; "
	}
	return ""
}

var stageNames = []string{"queued", "held", "reached", "whole"}

// did is what the leader wants done: records, orders to all servers or one, a commit, the end of the job.
func (p *leaderPlayer) did() string {
	todo, all := p.Todo(), []string(nil)
	for _, r := range todo.Note {
		p.journal = append(p.journal, noted(r))
		switch {
		case r.Intent != nil:
			all = append(all, fmt.Sprint("note intent ", r.Intent.Number))
		case r.Done != nil:
			text := fmt.Sprint("note done ", r.Done.Number)
			if r.Done.Why != "" {
				text = "note failed " + r.Done.Ask.ID
			}
			all = append(all, text)
		default:
			all = append(all, fmt.Sprint("note led ", r.Led))
		}
	}
	for i := 0; i < len(todo.Send); i++ {
		s, to := todo.Send[i], "all"
		if i+p.servers > len(todo.Send) || todo.Send[i+p.servers-1].Work != s.Work || s.To != 0 {
			to = fmt.Sprint(s.To)
		} else {
			i += p.servers - 1
		}
		text := fmt.Sprintf("%s to %s", s.Work, to)
		if s.Work == Reach {
			text += fmt.Sprint(" ", s.Steps)
		}
		if s.Vain {
			text += " vain"
		}
		all = append(all, text)
	}
	if todo.Seal != nil {
		all = append(all, "commit "+strings.Join(texts(todo.Seal.Parts), ","))
	}
	if todo.Fail != nil {
		all = append(all, "all go back")
	}
	return strings.Join(all, "; ")
}

func texts(all [][]byte) (texts []string) {
	for _, b := range all {
		texts = append(texts, string(b))
	}
	return texts
}

// noted is a record as a journal has it: as it was when it was noted.
func noted(r Record) (again Record) {
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil {
		panic(err)
	}
	return again
}

// followerPlayer is a server of two workers.
type followerPlayer struct{ *Follower }

func (p *followerPlayer) play(t *testing.T, l script.Line) string {
	words := l.Words
	number := func(i int) int { return script.Number(t, words[i]) }
	switch words[0] {
	case "follower":
		p.Follower = &Follower{}
	case "hold": // number, plan
		var plan Plan
		for _, w := range words[2:] {
			plan = append(plan, Work(w))
		}
		return p.told(&Order{Number: uint64(number(1)), Work: Hold, Task: taskOf(plan...)})
	case "reach": // number, steps
		return p.told(&Order{Number: uint64(number(1)), Work: Reach, Steps: []uint64{uint64(number(2)), uint64(number(3))}})
	case "write":
		return p.told(&Order{Number: uint64(number(1)), Work: Write})
	case "end", "mark", "take":
		return p.told(&Order{Number: uint64(number(1)), Work: Work(words[0]), Name: fmt.Sprintf("%s-%s", words[0], words[1])})
	case "free": // number, vain
		return p.told(&Order{Number: uint64(number(1)), Work: Free, Vain: len(words) > 2})
	case "idle": // steps
		steps := []uint64{uint64(number(1)), uint64(number(2))}
		p.Idle(Answer{Steps: steps, In: steps})
	case "did":
		if p.Did([]byte(strings.Join(words[1:], " ")), nil) {
			return "remove"
		}
	case "failed":
		if p.Did(nil, errors.New(strings.Join(words[1:], " "))) {
			return "remove"
		}
	case "report": // last, under
		p.Report(uint64(number(1)), uint64(number(2)))
	case "holds": // worker, step
		return yes(p.Holds(number(1), uint64(number(2))))
	case "holder":
		return fmt.Sprint(p.Number())
	case "returns": // with the cut that server 0 finishes, if any
		names := p.Names()
		p.Follower = &Follower{}
		for _, n := range names {
			p.Recall(n)
		}
		if len(words) > 1 {
			p.Resume(uint64(number(1)), Plan{End})
		}
	case "close":
		p.Close(errors.New("the job fails"))
	default:
		l.Unknown(t)
	}
	return ""
}

// told is what comes of an order: what is begun, or the answer.
func (p *followerPlayer) told(o *Order) string {
	a, begin := p.Order(o)
	text := ""
	if begin == Free {
		text = "remove "
	} else if begin != "" {
		text = "begin " + string(begin)
	}
	switch {
	case a == nil:
	case a.Stale:
		text += "stale"
	case a.Err != "":
		text += a.Err
	case a.Work == Hold:
		text += fmt.Sprint("held ", a.Steps)
	default:
		text += strings.TrimSpace("done " + string(a.Said))
	}
	return text
}

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

// TestNamesAreBounded: a server remembers the last names alone, and answers by those.
func TestNamesAreBounded(t *testing.T) {
	f := &Follower{}
	for i := range remembers + 3 {
		f.Recall(Named{Name: fmt.Sprint("end-", i)})
	}
	if names := f.Names(); len(names) != remembers || names[0].Name != "end-3" {
		t.Errorf("it remembers %v", names)
	}
	for i, knows := range map[int]bool{2: false, 3: true, remembers + 2: true} {
		if a, _ := f.Order(&Order{Number: 1, Work: End, Name: fmt.Sprint("end-", i)}); a.Stale == knows {
			t.Errorf("name %d: %+v", i, a)
		}
	}
}
