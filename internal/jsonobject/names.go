package jsonobject

import (
	"unicode"
	"unicode/utf8"
)

// names finds which wanted member a name in an object is. It remembers the names that it has met as they are written,
// and which came behind which, since objects mostly have theirs in one order.
type names struct {
	wanted map[string]int
	folded map[string]int // nil: case matters
	met    []name         // the first is none, and stands before each object's first
	byText map[string]int // into met
	last   int            // the name that came before, in met
	had    []bool         // wanted members that some object has had
}

// name is a name that was met.
type name struct {
	quoted string // as it is written, with its quotes
	number int    // of the wanted member, or other
	next   int    // the name that came behind it, in met; 0 if none has
}

// other is the number of a member that is not wanted.
const other = -1

// mostMet and longestMet bound the memory for names, however many there are.
const (
	mostMet    = 4096
	longestMet = 128
)

func newNames(wanted []string, anyCase bool) names {
	n := names{wanted: map[string]int{}, met: make([]name, 1), byText: map[string]int{}, had: make([]bool, len(wanted))}
	if anyCase {
		n.folded = map[string]int{}
	}
	for i, name := range wanted {
		n.wanted[name] = i
		if _, taken := n.folded[fold(name)]; anyCase && !taken {
			n.folded[fold(name)] = i
		}
	}
	return n
}

// fold is a name of which all that differ in case have the same.
func fold(name string) string {
	var folded []byte
	for _, r := range name {
		folded = utf8.AppendRune(folded, foldRune(r))
	}
	return string(folded)
}

// foldRune is the least of the runes that differ in case.
func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// at is the number of the member whose name stands at i, and where the name ends; -1 if there is no good one.
func (n *names) at(text []byte, i int) (number, end int) {
	next := n.met[n.last].next
	for range 2 { // the next, or the one behind it where that is left out
		m := &n.met[next]
		if end = i + len(m.quoted); next > 0 && end <= len(text) && string(text[i:end]) == m.quoted {
			n.last = next
			return m.number, end
		}
		next = m.next
	}
	if end = nameEnd(text, i); end < 0 {
		return other, -1
	}
	return n.find(text[i:end]), end
}

// find is the number of a name that did not come as it was expected.
func (n *names) find(quoted []byte) int {
	m, known := n.byText[string(quoted)]
	if !known {
		found := name{quoted: string(quoted), number: n.look(string(Unescape(nil, quoted[1:len(quoted)-1])))}
		if found.number >= 0 {
			n.had[found.number] = true
		}
		if len(quoted) > longestMet || len(n.met) == mostMet {
			return found.number
		}
		m = len(n.met)
		n.met = append(n.met, found)
		n.byText[found.quoted] = m
	}
	n.met[n.last].next = m
	n.last = m
	return n.met[m].number
}

// look looks a name up: as it is, or else whatever its case.
func (n *names) look(name string) int {
	if number, ok := n.wanted[name]; ok {
		return number
	}
	if n.folded != nil {
		if number, ok := n.folded[fold(name)]; ok {
			return number
		}
	}
	return other
}
