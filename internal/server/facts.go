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

// memory is what of a server outlives its process, beside the tables. Each part registers its own share, in its own file:
//
//   - A fact is state. The base of a segment has all facts, and a process that comes back resumes them in the order of registration.
//   - An event is a small decision, a record one with weights or rows. The part notes it before anybody is answered, and a process
//     that comes back plays all since the base, in their order.
//
// An event is a decision and not a fact: what follows from it in several parts is one record, so that the torn end of a journal never has
// half of it. Only the registration of how it is played gives the handle that notes it.
type memory struct {
	journal *journaling
	facts   []fact
	events  map[string]func(context.Context, json.RawMessage) error
	records map[journal.Kind]func(*wire.Frame) error
}

func newMemory(j *journaling) *memory {
	return &memory{journal: j, events: map[string]func(context.Context, json.RawMessage) error{},
		records: map[journal.Kind]func(*wire.Frame) error{}}
}

// register has each part register its share. What comes back does so in this order.
func (m *memory) register(parts ...interface{ register(*memory) }) {
	for _, p := range parts {
		p.register(m)
	}
}

// fact is a registered fact. Both functions are called locked, while nothing is being applied.
type fact struct {
	key    string
	save   func() any // nil where there is nothing to save
	resume func(json.RawMessage) error
}

// addFact registers state that is saved under a key, which never changes. A zero value is not written, and resumed like any other: the
// tables may have been filled from a checkpoint since the state was made.
func addFact[T any](m *memory, key string, save func() T, resume func(T)) {
	tryFact(m, key, save, func(then T) error { resume(then); return nil })
}

// tryFact is addFact for state that may not fit.
func tryFact[T any](m *memory, key string, save func() T, resume func(T) error) {
	m.facts = append(m.facts, fact{key,
		func() any {
			if v := save(); !reflect.ValueOf(&v).Elem().IsZero() {
				return v
			}
			return nil
		},
		func(text json.RawMessage) error {
			v, err := parsed[T](text)
			if err != nil {
				return err
			}
			return resume(v)
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

// addEvent registers decisions that are recorded under a key, which never changes, and how one is made again. play is called locked.
func addEvent[T any](m *memory, key string, play func(T)) event[T] {
	return tryEvent(m, key, func(_ context.Context, v T) error { play(v); return nil })
}

// tryEvent is addEvent for decisions that may fail when they are made again.
func tryEvent[T any](m *memory, key string, play func(context.Context, T) error) event[T] {
	m.events[key] = func(ctx context.Context, text json.RawMessage) error {
		v, err := parsed[T](text)
		if err != nil {
			return err
		}
		return play(ctx, v)
	}
	return event[T]{m.journal, key}
}

// note records a decision. Locked.
func (e event[T]) note(v T) {
	if !e.journal.on() {
		return
	}
	body, err := json.Marshal(map[string]T{e.key: v})
	if err == nil {
		err = e.journal.journal.Append(kindEvent, body)
	}
	e.journal.failed(err)
}

// record notes decisions of one kind that are frames.
type record struct {
	journal *journaling
	kind    journal.Kind
}

// addRecord registers decisions that are recorded as frames of a kind, and how one is made again. play is called locked.
func addRecord(m *memory, kind journal.Kind, play func(*wire.Frame) error) record {
	m.records[kind] = play
	return record{m.journal, kind}
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
	all := make(map[string]json.RawMessage, len(m.facts))
	for _, f := range m.facts {
		v := f.save()
		if v == nil {
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("the journal's %q: %w", f.key, err)
		}
		all[f.key] = text
	}
	return all, nil
}

// resume makes all facts what was saved. Locked.
func (m *memory) resume(all map[string]json.RawMessage) error {
	for key := range all {
		if !slices.ContainsFunc(m.facts, func(f fact) bool { return f.key == key }) {
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
	if kind == kindEvent {
		return m.playEvent(ctx, body)
	}
	play := m.records[kind]
	if play == nil {
		return fmt.Errorf("a record of kind %d: it was written by another build", kind)
	}
	var f wire.Frame
	if err := f.Parse(body); err != nil {
		return err
	}
	return play(&f)
}

func (m *memory) playEvent(ctx context.Context, body []byte) error {
	var e map[string]json.RawMessage
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	for key, text := range e {
		if play := m.events[key]; play != nil {
			return play(ctx, text)
		}
	}
	return fmt.Errorf("an event %.80s, of which nothing is known: it was written by another build", body)
}

// parsed is the value in a text, or the zero value where there is no text.
func parsed[T any](text json.RawMessage) (v T, err error) {
	if len(text) > 0 {
		err = json.Unmarshal(text, &v)
	}
	return v, err
}
