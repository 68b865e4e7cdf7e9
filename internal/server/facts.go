package server

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/wire"
)

// memory is what of a server outlives its process, beside the tables. Each part registers its share in its own file:
//
//   - A fact is state. The base of a segment has all facts, and a process that comes back resumes them in the order of
//     registration.
//   - An event is a small decision, a record a decision with weights or rows. Its part notes it before a request is
//     answered, and a process that comes back plays all of them since the base.
//
// All that follows from a decision, in several parts, is one record: the torn end of a journal never has half of it. A
// decision that can't be played can't be noted, since registering how it is played returns the handle that notes it.
//
// Registered functions are called locked, and facts are saved while no update is being applied.
type memory struct {
	journal *journaling
	facts   []fact
	old     []string                                       // keys of facts that builds before had, which are not needed
	plays   map[string]func(context.Context, []byte) error // by the key of an event, or the name of a record's kind
}

func newMemory(j *journaling) *memory {
	return &memory{journal: j, plays: map[string]func(context.Context, []byte) error{}}
}

type fact struct {
	key    string
	save   func() (json.RawMessage, error)
	resume func(json.RawMessage) error
}

// addFact registers state that is saved under a key, which never changes. A zero value or an empty list is not written,
// and is resumed like any other: the state may have come from a checkpoint since.
func addFact[T any](m *memory, key string, save func() T, resume func(T)) {
	tryFact(m, key, save, func(then T) error { resume(then); return nil })
}

// tryFact is addFact for state that may not fit.
func tryFact[T any](m *memory, key string, save func() T, resume func(T) error) {
	m.facts = append(m.facts, fact{key, func() (json.RawMessage, error) {
		v := save()
		if is := reflect.ValueOf(&v).Elem(); is.IsZero() || is.Kind() == reflect.Slice && is.Len() == 0 {
			return nil, nil
		}
		return json.Marshal(v)
	}, func(text json.RawMessage) error {
		var then T
		if err := parse(text, &then); err != nil {
			return err
		}
		return resume(then)
	}})
}

// addValue registers a field that is state as it is, and addList one of a length that never changes.
func addValue[T any](m *memory, key string, v *T) {
	addFact(m, key, func() T { return *v }, func(then T) { *v = then })
}

func addList[T any](m *memory, key string, all []T) {
	addFact(m, key, func() []T { return all }, func(then []T) { copy(all, then) })
}

// event notes decisions of one kind.
type event[T any] struct {
	journal *journaling
	key     string
}

// addEvent registers decisions that are recorded under a key, which never changes, and how one is made again.
func addEvent[T any](m *memory, key string, play func(T)) event[T] {
	return tryEvent(m, key, func(_ context.Context, v T) error { play(v); return nil })
}

// tryEvent is addEvent for decisions that may fail when they are made again.
func tryEvent[T any](m *memory, key string, play func(context.Context, T) error) event[T] {
	m.plays[key] = func(ctx context.Context, text []byte) error {
		var v T
		if err := parse(text, &v); err != nil {
			return err
		}
		return play(ctx, v)
	}
	return event[T]{m.journal, key}
}

// note records a decision. Locked.
func (e event[T]) note(v T) {
	if e.journal.on() {
		body, err := json.Marshal(map[string]T{e.key: v})
		if err == nil {
			err = e.journal.journal.Append(kindEvent, body)
		}
		e.journal.failed(err)
	}
}

// record notes decisions of one kind that are frames.
type record struct {
	journal *journaling
	kind    journal.Kind
}

// name is that of a kind of records.
func (r record) name() string { return fmt.Sprint("kind ", r.kind) }

// addRecord registers decisions that are recorded as frames of a kind, and how one is made again.
func addRecord(m *memory, kind journal.Kind, play func(*wire.Frame) error) record {
	r := record{m.journal, kind}
	m.plays[r.name()] = func(_ context.Context, body []byte) error {
		var f wire.Frame
		if err := f.ParseKept(body); err != nil {
			return err
		}
		return play(&f)
	}
	return r
}

// note records the frame that fill makes. Locked.
func (r record) note(fill func(*wire.Builder)) {
	if r.journal.on() {
		r.journal.failed(r.append(fill))
	}
}

// append is note where the journal is on, and the caller has the error to end the job with.
func (r record) append(fill func(*wire.Builder)) error { return r.journal.append(r.kind, fill) }

// save is all facts, by key. Locked, and nothing is being applied.
func (m *memory) save() (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, f := range m.facts {
		text, err := f.save()
		if err != nil {
			return nil, fmt.Errorf("the journal's %q: %w", f.key, err)
		}
		if text != nil {
			all[f.key] = text
		}
	}
	return all, nil
}

// resume makes all facts what was saved. Locked.
func (m *memory) resume(all map[string]json.RawMessage) error {
	for key := range all {
		if !slices.Contains(m.old, key) && !slices.ContainsFunc(m.facts, func(f fact) bool { return f.key == key }) {
			return fmt.Errorf("a fact %q, of which nothing is known: it was written by another build", key)
		}
	}
	for _, f := range m.facts {
		if err := f.resume(all[f.key]); err != nil {
			return fmt.Errorf("the journal's %q: %w", f.key, err)
		}
	}
	return nil
}

// play makes the decision of a record again. Locked.
func (m *memory) play(ctx context.Context, kind journal.Kind, body []byte) error {
	what := map[string]json.RawMessage{record{kind: kind}.name(): body}
	if kind == kindEvent {
		what = nil
		if err := json.Unmarshal(body, &what); err != nil {
			return err
		}
	}
	for key, text := range what {
		if play := m.plays[key]; play != nil {
			return play(ctx, text)
		}
	}
	return fmt.Errorf("a record of kind %d, of which nothing is known (%.80q): it was written by another build", kind,
		body)
}

// parse reads the value in a text; where there is none, it stays zero.
func parse(text []byte, v any) error {
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, v)
}
