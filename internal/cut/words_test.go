package cut

import (
	"errors"
	"testing"
)

// TestOnlyTheAnchorsWordCounts: a word counts that is of the call whose cut is under way, of its number and of the stage that
// the leader waits at. What comes late or from elsewhere can't fail the cut.
func TestOnlyTheAnchorsWordCounts(t *testing.T) {
	why := errors.New("its disk is full")
	for name, c := range map[string]struct {
		under bool // a cut is under way
		word  Ask
		want  bool
	}{
		"the anchor":          {true, Ask{ID: "a", Number: 1, Knows: Held, Task: taskOf(Write, Commit)}, true},
		"another call":        {true, Ask{ID: "b", Number: 1, Knows: Held, Task: taskOf(Write, Commit)}, false},
		"of another task":     {true, Ask{ID: "a", Number: 1, Knows: Held, Task: taskOf(End)}, false},
		"an earlier number":   {true, Ask{ID: "a", Number: 0, Knows: Held, Task: taskOf(Write, Commit)}, false},
		"an earlier stage":    {true, Ask{ID: "a", Number: 1, Knows: Queued, Task: taskOf(Write, Commit)}, false},
		"no cut is under way": {false, Ask{ID: "a", Number: 1, Knows: Held}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLeader(1)
			if c.under {
				l.Ask(&Ask{ID: "a", Task: taskOf(Write, Commit)})
				l.Answered(0, &Answer{Number: 1, Work: Hold, Steps: []uint64{1}})
			}
			if is := l.Speaks(&c.word); is != c.want {
				t.Errorf("it speaks: %t", is)
			}
			if held := l.Held(c.word.ID); (held == 1) != (c.under && c.word.ID == "a") {
				t.Errorf("call %s has cut %d", c.word.ID, held)
			}
			l.Todo()
			l.Fail(&c.word, why)
			if todo := l.Todo(); (len(todo.Send) > 0) != c.want {
				t.Errorf("its failure has the leader send %v", todo.Send)
			}
		})
	}
}

// taskOf is a task with these works.
func taskOf(plan ...Work) (t Task) {
	has := Plan(plan).Has
	if has(Write) {
		t.Save = new(Save)
	}
	if has(End) {
		t.Shrink = new(Shrink)
	}
	if has(Mark) {
		t.Serve = new(Serve)
	}
	if has(Take) {
		t.Load = new(Load)
	}
	t.Read = has(Read) && t.Serve == nil && t.Load == nil
	return t
}

// TestNews: a worker has its answer at once when its call has failed, is to be asked anew, or has come further than it
// knows, and else waits on.
func TestNews(t *testing.T) {
	for name, c := range map[string]struct {
		told Told
		want bool
	}{
		"nothing yet":      {Told{}, false},
		"what it knows":    {Told{Number: 3, Stage: Held}, false},
		"a later stage":    {Told{Number: 3, Stage: Reached}, true},
		"an earlier stage": {Told{Number: 3, Stage: Queued}, false},
		"another number":   {Told{Number: 4, Stage: Held}, true},
		"it has failed":    {Told{Err: errors.New("given up")}, true},
		"it begins anew":   {Told{Anew: true}, true},
	} {
		if is := c.told.News(&Ask{Number: 3, Knows: Held}); is != c.want {
			t.Errorf("%s: news %t", name, is)
		}
	}
}

// TestAFailedSaveLeavesTheOneBefore: a checkpoint in a directory serves who asks for the same at the same steps, though a
// save there has failed since; one that was written there since has removed its files.
func TestAFailedSaveLeavesTheOneBefore(t *testing.T) {
	save := func(id, dir string, params ...string) *Ask {
		a := Ask{ID: id, Task: Task{Save: &Save{Dir: dir, Params: params}}}
		return a.accepted()
	}
	done := func(a *Ask, err error) *Done {
		return &Done{Number: 1, Ask: a.past(), Step: 7, At: []uint64{3}, err: err}
	}
	first := done(save("a", "d"), nil)
	for name, c := range map[string]struct {
		since *Done
		want  *Done
	}{
		"nothing since":           {done(save("b", "elsewhere"), nil), first},
		"a save there has failed": {done(save("b", "d"), errors.New("its disk is full")), first},
		"others were saved there": {done(save("b", "d", "other params"), nil), nil},
		"others, but it failed":   {done(save("b", "d", "other params"), errors.New("its disk is full")), first},
	} {
		all := past{first, c.since}
		now := &led{ask: save("c", "d"), at: []uint64{3}, held: []*Answer{{Step: 7}}}
		if got := all.same(now); got != c.want {
			t.Errorf("%s: %+v serves", name, got)
		}
	}
}

// TestLateAnswers change nothing: of a cut that is over or was begun under another number, or to an order that was
// answered.
func TestLateAnswers(t *testing.T) {
	l := NewLeader(2)
	hold := func(number uint64) *Answer { return &Answer{Number: number, Work: Hold, Steps: []uint64{number}} }
	l.Answered(0, hold(1)) // before there is any
	l.Unreachable(0, errors.New("no answer"))
	l.Ask(&Ask{ID: "a", Task: taskOf(Read)})
	l.Answered(0, hold(1))
	l.Answered(1, &Answer{Number: 1, Work: Hold, Stale: true}) // it was started again
	l.Answered(0, &Answer{Number: 1, Work: Free})
	l.Answered(1, &Answer{Number: 1, Work: Free})
	if _, under := l.Report(); under != 2 {
		t.Fatalf("cut %d is under way", under)
	}
	l.Todo()
	l.Answered(0, hold(1))
	l.Answered(1, hold(1))
	if todo := l.Todo(); len(todo.Send) > 0 {
		t.Errorf("answers of cut 1 have cut 2 order %v", todo.Send)
	}
	l.Answered(0, hold(2))
	l.Answered(0, hold(2))
	if todo := l.Todo(); len(todo.Send) > 0 {
		t.Errorf("one server has answered twice, and %v is ordered", todo.Send)
	}
	l.Unreachable(0, errors.New("an attempt of before has ended"))
	if todo := l.Todo(); len(todo.Send)+len(todo.Note) > 0 {
		t.Errorf("a server that has answered was not reached, and %v is ordered", todo.Send)
	}
	l.Answered(1, hold(2))
	if todo := l.Todo(); len(todo.Send) != 2 || todo.Send[0].Work != Reach {
		t.Errorf("all hold, and %v is ordered", todo.Send)
	}
}

// TestStepsBeyondACut: a worker that has come further than the cut's steps makes a server's image another moment's; one of which
// the cut says nothing does not.
func TestStepsBeyondACut(t *testing.T) {
	for _, c := range []struct {
		have, steps []uint64
		want        bool
	}{{[]uint64{3, 4}, []uint64{3, 4}, false}, {[]uint64{3, 5}, []uint64{3, 4}, true}, {[]uint64{3, 5}, []uint64{4, 5}, false},
		{[]uint64{3, 5}, []uint64{3}, false}} {
		if is := beyond(c.have, c.steps); is != c.want {
			t.Errorf("%v is beyond %v: %t", c.have, c.steps, is)
		}
	}
}

// TestWhatIsWanted: a cut is, as long as it is held here and the job goes on.
func TestWhatIsWanted(t *testing.T) {
	f := &Follower{}
	f.Order(&Order{Number: 2, Work: Hold, Task: taskOf(End)})
	if !f.Wanted(2) || f.Wanted(1) || f.Wanted(3) {
		t.Error("another cut is wanted than the one that is held")
	}
	if f.Close(errors.New("the job fails")); f.Wanted(2) || f.Wanted(1) {
		t.Error("the job has failed, and a cut is wanted")
	}
}
