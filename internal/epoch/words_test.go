package epoch

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/script"
)

// TestScripts plays the scripts of testdata: a line is what happens to a job, and after "->" what is noted and told
// then. Members are real ones, which do what they were told before they say something.
// In scripts of a member, a line is what that is told, or has done, and the answer is its next message.
//
//	leader MEMBERS EPOCHS | chooses [in-step] [at-once] [leases] [apart]
//	W begins FIRST [BYTES]  a process of worker W begins, which has samples left from epoch FIRST on; once it is told to, it
//	                    has begun
//	W due | ended [BYTES]  it trains up to there, and brings something
//	W did BYTES         it has done what it was told
//	W failed            it could not train another's rest
//	W chose [BYTES]     it has found what the next epoch is; nothing yet, without BYTES
//	W chose-last        it has found that there are no more
//	W wants WHY         it wants to stop, and says so with its next message
//	W hears             it is told what waits for it, and does it
//	W again             its last message comes again
//	W late              the message before that comes
//	W lost EPOCH N [LIFE]  its last life, or another, is declared lost, with N samples of that epoch in the weights
//	W gone              it has left
//	tired               lost members were waited for long enough
//	waits | leads       whether all wait; who leads
//	moment              what identifies the facts
//	rebased             the journal begins anew, with the facts
//	returns             the leader's process returns, with what is noted; members have to say again where they are
//	back [MEMBERS [EPOCHS]]  all go back to a checkpoint of now: every process has to begin
//
//	member FIRST        it begins, with samples left from that epoch on
//	told N DO EPOCH     it is told what to do, as an answer to message N: begin at EPOCH, train it, or end it
//	told N act K EPOCH  and so for evaluation K
//	told N none 0       it is to ask again
//	recall N K EPOCH    it is told to begin at an epoch, and what the job remembers of K evaluations
//	begun | due | ended [BYTES] | did BYTES | failed | wants WHY
func TestScripts(t *testing.T) {
	script.Play(t, "*.txt", func(t *testing.T, lines iter.Seq[script.Line]) {
		var play interface {
			play(t *testing.T, l script.Line) string
		} = &player{}
		for l := range lines {
			if l.Words[0] == "member" {
				play = &memberPlayer{}
			}
			l.Check(t, play.play(t, l))
		}
	})
}

// player is a job that a script plays.
type player struct {
	*Leader
	of      At // what all members know of the job
	members []*Member
	lives   []uint32
	late    []At // by worker: the message before its last
	records []Record
	told    []*Told // by worker: the last answer that was shown
	begins  []*Told // by worker: the order to begin
}

func (p *player) begin(j Job) {
	p.Leader = NewLeader(j)
	p.members, p.late = make([]*Member, j.Members), make([]At, j.Members)
	p.told, p.begins = make([]*Told, j.Members), make([]*Told, j.Members)
	p.lives = append(p.lives, make([]uint32, j.Members)...)
}

// play has something happen, and returns what follows.
func (p *player) play(t *testing.T, l script.Line) string {
	t.Helper()
	words := l.Words
	number := func(i int) int { return script.Number(t, words[i]) }
	switch words[0] {
	case "leader":
		has := func(what string) bool { return slices.Contains(words, what) }
		p.of = At{Leases: has("leases"), Apart: has("apart"), Chooses: words[2] == "chooses"}
		if !p.of.Chooses {
			p.of.Epochs = number(2)
		}
		p.begin(Job{Members: number(1), InStep: has("in-step"), AtOnce: has("at-once")})
	case "tired":
		p.Tired()
	case "waits":
		return fmt.Sprint(p.Waits())
	case "moment":
		return p.Moment()
	case "leads":
		return fmt.Sprint(p.lead())
	case "rebased":
		p.records = nil
		for _, r := range p.Facts() {
			p.records = append(p.records, noted(r))
		}
	case "returns":
		p.Leader = NewLeader(p.job)
		for _, r := range p.records {
			p.Recall(r)
		}
		clear(p.told)
	case "back":
		facts, j := p.Facts(), p.job
		if len(words) > 1 {
			j.Members = number(1)
		}
		if len(words) > 2 {
			p.of.Epochs = number(2)
		}
		p.begin(j)
		for i := range facts {
			facts[i] = noted(facts[i])
		}
		p.Resume(facts)
		p.records = p.Facts()
	default:
		p.worker(t, l, number(0))
	}
	return p.said()
}

// worker has something happen to a worker.
func (p *player) worker(t *testing.T, l script.Line, w int) {
	t.Helper()
	words := l.Words
	if told := p.Told(w); told != nil && p.members[w] != nil {
		p.members[w].Told(told)
	}
	m := p.members[w]
	if m != nil && words[1] != "again" && words[1] != "late" {
		p.late[w] = m.At()
	}
	switch words[1] {
	case "begins":
		p.lives[w]++
		m = NewMember(At{Worker: w, Life: p.lives[w], Stands: brings(words[3:])}, script.Number(t, words[2]))
		p.members[w] = m
	case "hears":
		return
	case "due":
		m.Due(brings(words[2:]))
	case "ended":
		m.Ended(brings(words[2:]))
	case "did":
		m.Did([]byte(strings.Join(words[2:], " ")))
	case "failed":
		m.Failed()
	case "chose":
		m.Chose(brings(words[2:]), false)
	case "chose-last":
		m.Chose(nil, true)
	case "wants":
		m.Wants(strings.Join(words[2:], " "))
		return
	case "again":
	case "late":
		p.Say(p.late[w])
		return
	case "lost":
		life := p.lives[w]
		if len(words) > 4 {
			life = uint32(script.Number(t, words[4]))
		}
		p.Lost(life, Left{w, script.Number(t, words[2]), uint64(script.Number(t, words[3]))})
		return
	case "gone":
		p.Gone(w, p.lives[w])
		return
	default:
		l.Unknown(t)
	}
	p.Say(m.At())
}

// memberPlayer is a member that a script plays.
type memberPlayer struct{ *Member }

func (p *memberPlayer) play(t *testing.T, l script.Line) string {
	words := l.Words
	number := func(i int) int { return script.Number(t, words[i]) }
	switch words[0] {
	case "member":
		p.Member = NewMember(At{Worker: 1, Life: 1}, number(1))
	case "told", "recall":
		told := &Told{N: uint64(number(1)), Do: Train}
		switch {
		case words[0] == "recall":
			told.Do, told.Known, told.First = Begin, number(2), number(3)
		case words[2] == string(Act):
			told.Do, told.Made, told.First = Act, &Made{Number: number(3)}, number(4)
		case words[2] == "none":
			told.Do = ""
		default:
			told.Do, told.Epoch, told.First, told.Try = Do(words[2]), number(3), number(3), 1
		}
		if !p.Told(told) {
			return "no"
		}
		return ""
	case "begun":
		p.Begun(9, false, false)
	case "due":
		p.Due(brings(words[1:]))
	case "ended":
		p.Ended(brings(words[1:]))
	case "did":
		p.Did([]byte(strings.Join(words[1:], " ")))
	case "failed":
		p.Failed()
	case "wants":
		p.Wants(strings.Join(words[1:], " "))
		return ""
	default:
		l.Unknown(t)
	}
	a := p.At()
	text := fmt.Sprintf("%d %s", a.N, said(&a))
	if a.For > 0 {
		text += fmt.Sprint(" for ", a.For)
	}
	if a.Stands != nil {
		text += fmt.Sprintf(" with %s", a.Stands)
	}
	if a.Failed {
		text += " failed"
	}
	return strings.TrimSpace(text + " " + string(a.Brought))
}

// brings is the rest of a line as bytes, nil if there is none.
func brings(words []string) []byte {
	if len(words) == 0 {
		return nil
	}
	return []byte(strings.Join(words, " "))
}

// said is what was noted, and told, since it was asked last. A member that is told to begin has begun at once, and what
// it was told is shown with its first order after that.
func (p *player) said() string {
	var all []string
	for w := range p.told {
		if t := p.Told(w); t != nil && t.Do == Begin && p.members[w].Told(t) {
			p.begins[w] = t
			if p.of.Chooses {
				p.members[w].Chooses()
			}
			p.members[w].Begun(max(p.of.Epochs, t.Epochs), p.of.Leases, p.of.Apart)
			p.Say(p.members[w].At())
			return p.said()
		}
	}
	for _, r := range p.Note() {
		if p.records = append(p.records, noted(r)); r.Made != nil {
			all = append(all, fmt.Sprintf("note %s", evaluation(r.Made)))
		} else {
			text := strings.TrimSpace(fmt.Sprintf("note ground %s", r.Ground.Memory))
			if r.Ground.Epochs > 0 {
				text += fmt.Sprintf(" of %d", r.Ground.Epochs)
			}
			if r.Ground.Last {
				text += ", the last"
			}
			all = append(all, text)
		}
	}
	for w := range p.told {
		t := p.Told(w)
		if t != nil && t != p.told[w] {
			if b := p.begins[w]; b != nil {
				with := *t
				with.Together, with.Known, with.Cards = b.Together, max(t.Known, b.Known), b.Cards
				if t.Epochs == 0 {
					with.Epochs, with.Chosen = b.Epochs, b.Chosen
				}
				t = &with
			}
			all = append(all, fmt.Sprintf("%d: %s", w, ordered(t)))
			p.begins[w] = nil
		}
		t = p.Told(w)
		p.told[w] = t
	}
	return strings.ReplaceAll(strings.Join(all, "; "), " ;", ";")
}

// noted is a record as a journal has it.
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

// evaluation is one as a script has it.
func evaluation(m *Made) string {
	where := "in"
	if m.End {
		where = "after"
	}
	return fmt.Sprintf("evaluation %d %s %d of %s", m.Number, where, m.Epoch, m.Shares)
}

// said is a message as a script has it.
func said(a *At) string {
	text := "due"
	switch {
	case a.Begins:
		text = "begins"
	case a.Ended:
		text = "ended"
	}
	text = fmt.Sprintf("%s %d known %d", text, a.Epoch, a.Known)
	if a.Closed > 0 {
		text += fmt.Sprintf(" closed %d/%d", a.Closed, a.Try)
	}
	if a.Did != "" {
		text += " did " + string(a.Did)
	}
	if a.Stop != "" {
		text += ", and wants to stop: " + a.Stop
	}
	return text
}

// ordered is an answer as a script has it.
func ordered(t *Told) string {
	text := string(t.Do)
	switch t.Do {
	case Train:
		text += fmt.Sprint(" ", t.Epoch)
	case Measure:
		text += fmt.Sprintf(" %d of %d", t.Share, t.Of)
		if len(slices.Concat(t.Stands...)) > 0 {
			text += fmt.Sprintf(" by %s", t.Stands)
		}
		for _, s := range t.Counts {
			text += fmt.Sprintf(" and %d's %d-%d", s.Worker, s.From, s.To)
		}
	case Begin:
		text += fmt.Sprintf(" at %d", t.First)
	case Act:
		text += fmt.Sprint(" ", t.Made.Number)
	case End, Choose:
		text += fmt.Sprint(" ", t.Epoch)
	case Stop, Over:
		if t.Why != "" {
			text += " " + t.Why
		}
	}
	for _, l := range t.Lost {
		text += fmt.Sprintf(" of %d from %d.%d", l.Worker, l.Epoch, l.Samples)
	}
	for _, f := range []struct {
		is   bool
		text string
	}{{t.Alone, " alone"}, {t.Again, " again"}, {t.Together, " together"}} {
		if f.is {
			text += f.text
		}
	}
	if t.Epochs > 0 {
		text += fmt.Sprintf(" of %d: %s", t.Epochs, t.Chosen)
	}
	if t.Known > 0 {
		text += fmt.Sprint(" recalls ", t.Known)
	}
	if len(slices.Concat(t.Cards...)) > 0 {
		text += fmt.Sprintf(" with %s", t.Cards)
	}
	return text
}
