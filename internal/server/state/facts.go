package state

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/wire"
)

// Memory is the state of a server, beside the tables, that survives its process. Each part registers its share in its
// own file:
//
//   - A fact is a piece of state. The base of a segment has all facts, and a process that comes back restores them in the
//     order of registration.
//   - An event is a small decision; a record is a decision with weights or rows. The part notes it before the request is
//     answered, and a process that comes back replays every one since the base.
//
// All consequences of a decision, in all parts, are one record, so that the torn end of a journal never has half of a
// decision. A decision without a replay function can't be noted: registering that function returns the handle that
// notes it.
//
// Registered functions are called with the lock held. Facts are saved while no update is being applied.
type Memory struct {
	journal *Journal
	Facts   []fact
	Plays   map[string]func(context.Context, []byte) error // by the key of an event, or the name of a record's kind
}

func NewMemory(j *Journal) *Memory {
	return &Memory{journal: j, Plays: map[string]func(context.Context, []byte) error{}}
}

type fact struct {
	Key    string
	save   func() (json.RawMessage, error)
	resume func(json.RawMessage) error
}

// AddFact registers state that is saved under a key, which must never change. A zero value or an empty list is not
// written, and is restored like any other value: a checkpoint may have set the state meanwhile.
func AddFact[T any](m *Memory, key string, save func() T, resume func(T)) {
	TryFact(m, key, save, func(then T) error { resume(then); return nil })
}

// TryFact is AddFact for state whose restoring may fail.
func TryFact[T any](m *Memory, key string, save func() T, resume func(T) error) {
	m.Facts = append(m.Facts, fact{key, func() (json.RawMessage, error) {
		v := save()
		if is := reflect.ValueOf(&v).Elem(); is.IsZero() || is.Kind() == reflect.Slice && is.Len() == 0 {
			return nil, nil
		}
		return json.Marshal(v)
	}, func(text json.RawMessage) error {
		var then T
		if err := Parse(text, &then); err != nil {
			return err
		}
		return resume(then)
	}})
}

// AddValue registers a field that is saved as it is. AddList registers a list whose length never changes.
func AddValue[T any](m *Memory, key string, v *T) {
	AddFact(m, key, func() T { return *v }, func(then T) { *v = then })
}

func AddList[T any](m *Memory, key string, all []T) {
	AddFact(m, key, func() []T { return all }, func(then []T) { copy(all, then) })
}

// Event notes decisions of one kind.
type Event[T any] struct {
	journal *Journal
	key     string
}

// AddEvent registers decisions that are recorded under a key, which must never change, and the function that replays
// one.
func AddEvent[T any](m *Memory, key string, play func(T)) Event[T] {
	return TryEvent(m, key, func(_ context.Context, v T) error { play(v); return nil })
}

// TryEvent is AddEvent for decisions whose replay may fail.
func TryEvent[T any](m *Memory, key string, play func(context.Context, T) error) Event[T] {
	m.Plays[key] = func(ctx context.Context, text []byte) error {
		var v T
		if err := Parse(text, &v); err != nil {
			return err
		}
		return play(ctx, v)
	}
	return Event[T]{m.journal, key}
}

// Note records a decision. The caller holds the lock.
func (e Event[T]) Note(v T) {
	if e.journal.On() {
		body, err := json.Marshal(map[string]T{e.key: v})
		if err == nil {
			err = e.journal.Journal.Append(KindEvent, body)
		}
		e.journal.Failed(err)
	}
}

// Record notes decisions of one kind, each as a frame.
type Record struct {
	journal *Journal
	kind    journal.Kind
}

// name is the key of a kind of records.
func (r Record) name() string { return fmt.Sprint("kind ", r.kind) }

// AddRecord registers decisions that are recorded as frames of a kind, and the function that replays one.
func AddRecord(m *Memory, kind journal.Kind, play func(*wire.Frame) error) Record {
	r := Record{m.journal, kind}
	m.Plays[r.name()] = func(_ context.Context, body []byte) error {
		var f wire.Frame
		if err := f.Parse(body); err != nil {
			return err
		}
		return play(&f)
	}
	return r
}

// Note records the frame that fill makes. The caller holds the lock.
func (r Record) Note(fill func(*wire.Builder)) {
	if r.journal.On() {
		r.journal.Failed(r.Append(fill))
	}
}

// Append is Note for a caller that checked that the journal is on, and that ends the job with the error.
func (r Record) Append(fill func(*wire.Builder)) error { return r.journal.append(r.kind, fill) }

// Save returns all facts by key. The caller holds the lock, and no update is being applied.
func (m *Memory) Save() (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, f := range m.Facts {
		text, err := f.save()
		if err != nil {
			return nil, fmt.Errorf("the journal's %q: %w", f.Key, err)
		}
		if text != nil {
			all[f.Key] = text
		}
	}
	return all, nil
}

// Resume restores all facts from what Save returned. The caller holds the lock.
func (m *Memory) Resume(all map[string]json.RawMessage) error {
	for key := range all {
		if !slices.ContainsFunc(m.Facts, func(f fact) bool { return f.Key == key }) {
			return fmt.Errorf("a fact %q, of which nothing is known: it was written by another build", key)
		}
	}
	for _, f := range m.Facts {
		if err := f.resume(all[f.Key]); err != nil {
			return fmt.Errorf("the journal's %q: %w", f.Key, err)
		}
	}
	return nil
}

// Play replays the decision of a record. The caller holds the lock.
func (m *Memory) Play(ctx context.Context, kind journal.Kind, body []byte) error {
	what := map[string]json.RawMessage{Record{kind: kind}.name(): body}
	if kind == KindEvent {
		what = nil
		if err := json.Unmarshal(body, &what); err != nil {
			return err
		}
	}
	for key, text := range what {
		if play := m.Plays[key]; play != nil {
			return play(ctx, text)
		}
	}
	return fmt.Errorf("a record of kind %d, of which nothing is known (%.80q): it was written by another build", kind,
		body)
}

// Parse decodes a JSON text into v; an empty text leaves v as it is.
func Parse(text []byte, v any) error {
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, v)
}
