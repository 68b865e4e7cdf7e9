package jsonobject

import "iter"

// Kind is what a value is.
type Kind uint8

const (
	// Absent is the kind of a member that an object lacks.
	Absent Kind = iota
	Number
	True
	False
	Null
	// Text is a text without an escape.
	Text
	// Escaped is a text with escapes, which [Unescape] undoes.
	Escaped
	// Nested is an array or an object.
	Nested
)

// Value is a value of an object or of an array.
type Value struct {
	Kind Kind
	// Bytes are the value as it stands there, that of a text without its quotes.
	Bytes []byte
}

// Next is the first number, text or literal of what follows, which has to be good JSON, or the rest of it behind such a
// value; it lies in arrays of whatever depth. Of an object it is all, as Nested. At the end it is Absent.
func Next(text []byte) (v Value, rest []byte) {
	i := 0
	for i < len(text) && (text[i] <= ' ' || text[i] == '[' || text[i] == ']' || text[i] == ',') {
		i++
	}
	if i == len(text) {
		return Value{}, nil
	}
	v, end := value(text, i, 0)
	return v, text[end:]
}

// Elements are the values of an array, which has to be a good one.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := blanks(array, 1)
		for more := array[i] != ']'; more; {
			_, end := value(array, i, 1)
			if !yield(array[i:end]) {
				return
			}
			i, more = behind(array, end, ']')
		}
	}
}

// End is where the value ends that a text begins with, behind blanks; -1 if it begins with none.
func End(text []byte) int {
	_, end := value(text, blanks(text, 0), 0)
	return end
}

// blanks is the place of the first byte from i on that is no blank.
func blanks(text []byte, i int) int {
	if i < len(text) && text[i] > ' ' {
		return i
	}
	return moreBlanks(text, i)
}

func moreBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// deepest is how deep arrays and objects may lie in each other.
const deepest = 10000

// value is the value at i, and where it ends; -1 if there is no good one. Depth is how many arrays and objects it lies
// in.
func value(text []byte, i, depth int) (v Value, end int) {
	if i >= len(text) {
		return Value{}, -1
	}
	switch c := text[i]; {
	case c == '"':
		return textAt(text, i)
	case c == '-' || c >= '0' && c <= '9':
		end = numberEnd(text, i)
		v.Kind = Number
	case c == '[':
		end = arrayEnd(text, i, depth+1)
		v.Kind = Nested
	case c == '{':
		end = objectEnd(text, i, depth+1)
		v.Kind = Nested
	default:
		v.Kind, end = literal(text, i)
	}
	if end >= 0 {
		v.Bytes = text[i:end]
	}
	return v, end
}

// numberEnd is where the number at i ends, which is a minus or a digit.
func numberEnd(text []byte, i int) int {
	if text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if i = digits(text, i); i < 0 {
		return -1
	}
	if i < len(text) && text[i] == '.' {
		if i = digits(text, i+1); i < 0 {
			return -1
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		if i++; i < len(text) && (text[i] == '-' || text[i] == '+') {
			i++
		}
		i = digits(text, i)
	}
	return i
}

// digits is where the digits end that begin at i; -1 if there is none.
func digits(text []byte, i int) int {
	from := i
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// literal is true, false or null.
func literal(text []byte, i int) (Kind, int) {
	switch rest := text[i:]; {
	case len(rest) >= 4 && string(rest[:4]) == "true":
		return True, i + 4
	case len(rest) >= 5 && string(rest[:5]) == "false":
		return False, i + 5
	case len(rest) >= 4 && string(rest[:4]) == "null":
		return Null, i + 4
	}
	return Absent, -1
}

// arrayEnd is where the array at i ends.
func arrayEnd(text []byte, i, depth int) int {
	if depth > deepest {
		return -1
	}
	if i = blanks(text, i+1); i < len(text) && text[i] == ']' {
		return i + 1
	}
	for {
		var more bool
		if _, i = value(text, i, depth); i < 0 {
			return -1
		}
		if i, more = behind(text, i, ']'); !more {
			return i
		}
	}
}

// objectEnd is where the object at i ends.
func objectEnd(text []byte, i, depth int) int {
	if depth > deepest {
		return -1
	}
	if i = blanks(text, i+1); i < len(text) && text[i] == '}' {
		return i + 1
	}
	for {
		var more bool
		if i = nameEnd(text, i); i < 0 {
			return -1
		}
		if i = colon(text, i); i < 0 {
			return -1
		}
		if _, i = value(text, i, depth); i < 0 {
			return -1
		}
		if i, more = behind(text, i, '}'); !more {
			return i
		}
	}
}

// nameEnd is where the text at i ends.
func nameEnd(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	_, end := textAt(text, i)
	return end
}

// colon is the place of the value behind the colon behind a name that ends at i.
func colon(text []byte, i int) int {
	if i = blanks(text, i); i >= len(text) || text[i] != ':' {
		return -1
	}
	return blanks(text, i+1)
}

// behind looks at what comes behind a value that ends at i: at a comma, behind which more is to come, or at the end of
// the array or object.
func behind(text []byte, i int, end byte) (next int, more bool) {
	i = blanks(text, i)
	switch {
	case i >= len(text):
		return -1, false
	case text[i] == ',':
		return blanks(text, i+1), true
	case text[i] == end:
		return i + 1, false
	}
	return -1, false
}
