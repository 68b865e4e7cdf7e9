package cut

import (
	"reflect"
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
)

// TestAPeriodIsRecalled: a server 0 that comes back knows all that it knew of the last period.
func TestAPeriodIsRecalled(t *testing.T) {
	o := Options{First: true, Workers: 1, Servers: 1}
	m, msg := New(o), wire.Save{ID: "a", Shrink: &wire.Shrink{Unseen: 2}, Steps: []uint64{3}}
	if err := m.Freeze(&msg, 0); err != nil {
		t.Fatal(err)
	}
	named, _ := m.Done("a", 7)
	_, reach := m.Reach(&msg)
	reached := m.Reached("a")
	m.Wrote("a", wire.Freed{Rows: []int{5}}, nil)
	_, commit := m.Commit(&msg)
	m.Committed(7, wire.Freed{Rows: []int{5}}, nil)
	p := m.Period()
	if reach != nil || reached != nil || commit != nil || p.Name != named.Period || p.Ended != 1 {
		t.Fatalf("%+v, named %q: %v %v %v", p, named.Period, reach, reached, commit)
	}
	returned := New(o)
	returned.Recall(p)
	if again := returned.Period(); !reflect.DeepEqual(p, again) {
		t.Errorf("it is %+v, want %+v", again, p)
	}
}
