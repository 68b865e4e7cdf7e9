package jsonobject

import "iter"

// Kind is the type of a value.
type Kind uint8

const (
	// Absent is the kind of a member that an object lacks.
	Absent Kind = iota
	Number
	True
	False
	Null
	// Text is a string without an escape.
	Text
	// Escaped is a string with escapes, which [Unescape] decodes.
	Escaped
	// Nested is an array or an object.
	Nested
)

// Value is a value of an object or of an array.
type Value struct {
	Kind Kind
	// Bytes is the value as written, a string without its quotes.
	Bytes []byte
}

// Next returns the first number, string or literal in text, also within arrays at any depth, and the rest behind it.
// text must be valid JSON, or the rest that Next returned. An object is returned whole, as Nested. At the end v is
// Absent.
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

// Elements iterates over the values of an array, which must be valid.
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

// End returns where the value at the beginning of text ends, after blanks; -1 if there is no valid value.
func End(text []byte) int {
	_, end := value(text, blanks(text, 0), 0)
	return end
}

// blanks returns the index of the first byte from i on that is not a blank.
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

// deepest is how deep arrays and objects may be nested.
const deepest = 10000

// value returns the value at i, and where it ends; -1 if it is not valid. depth is how many arrays and objects contain
// it.
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

// numberEnd returns where the number at i ends, which begins with a minus or a digit; -1 if it is not valid.
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

// digits returns where the digits that begin at i end; -1 if there are none.
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

// literal returns the kind of true, false or null, and its end.
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

// arrayEnd returns where the array at i ends; -1 if it is not valid.
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

// objectEnd returns where the object at i ends; -1 if it is not valid.
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

// nameEnd returns where the string at i ends; -1 if there is none.
func nameEnd(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	_, end := textAt(text, i)
	return end
}

// colon returns the index of the value after the colon that follows a name ending at i; -1 if there is no colon.
func colon(text []byte, i int) int {
	if i = blanks(text, i); i >= len(text) || text[i] != ':' {
		return -1
	}
	return blanks(text, i+1)
}

// behind parses what follows a value that ends at i: a comma, after which next is the next member or element and more
// is true, or the end of the array or object, after which next is.
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
