package jsonobject

import (
	"encoding/json"
	"errors"
)

// Reader reads objects of which some members are wanted. One goroutine may use it at a time.
type Reader struct {
	names  names
	values []Value // of the wanted members, then of those whose names differ in case
	other  Value
	of     []byte
}

// NewReader returns a reader of the members named by wanted. With anyCase, a name that is none of these matches the
// first that differs in case only, in objects that don't have that one.
func NewReader(wanted []string, anyCase bool) *Reader {
	return &Reader{names: newNames(wanted, anyCase), values: make([]Value, 2*len(wanted))}
}

// Value returns the last object's value of wanted member number: the last one, if the object has several. It points
// into the text.
func (r *Reader) Value(number int) Value {
	if v := r.values[number]; v.Kind != Absent {
		return v
	}
	return r.values[number+len(r.values)/2]
}

// Other returns the last object's first member with a name that is not wanted; v is Absent if there is none. The name
// is as written.
func (r *Reader) Other() (name []byte, v Value) { return r.of, r.other }

// Missed returns the wanted members, by number, that no object so far has had, and the names of other members. any
// reports whether some object had a member.
func (r *Reader) Missed() (wanted []int, others []string, any bool) {
	for number, had := range r.names.had {
		if !had {
			wanted = append(wanted, number)
		}
	}
	for _, m := range r.names.met[1:] {
		if m.number < 0 {
			others = append(others, string(Unescape(nil, []byte(m.quoted[1:len(m.quoted)-1]))))
		}
	}
	return wanted, others, len(r.names.met) > 1
}

// Read reads a text that is an object. If it is not, the error is that of package encoding/json.
func (r *Reader) Read(text []byte) error {
	clear(r.values)
	r.of, r.other, r.names.last = nil, Value{}, 0
	i := blanks(text, 0)
	if i < len(text) && text[i] == '{' {
		if i = r.members(text, i+1); i >= 0 && blanks(text, i) == len(text) {
			return nil
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	return errors.New("null is not an object")
}

// members reads the members of the object that begins before i, and returns where it ends, or -1.
func (r *Reader) members(text []byte, i int) int {
	if i = blanks(text, i); i < len(text) && text[i] == '}' {
		return i + 1
	}
	for {
		from := i
		number, end := r.names.at(text, i)
		if end < 0 {
			return -1
		}
		if i = colon(text, end); i < 0 {
			return -1
		}
		v, next := value(text, i, 1)
		if next < 0 {
			return -1
		}
		if number >= 0 {
			r.values[number] = v
		} else if r.of == nil {
			r.of, r.other = text[from+1:end-1], v
		}
		var more bool
		if i, more = behind(text, next, '}'); !more {
			return i
		}
	}
}
