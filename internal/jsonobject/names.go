package jsonobject

import (
	"unicode"
	"unicode/utf8"
)

// names finds the wanted member for a name in an object. It stores the names that it has seen as they are written, and
// which name followed which, since most objects have their members in the same order.
type names struct {
	wanted map[string]int
	folded map[string]int // nil if case matters
	met    []name         // names seen; the first is a placeholder before each object's first name
	byText map[string]int // into met
	last   int            // the name before, as an index into met
	had    []bool         // by wanted member: some object had it
}

// name is a name that was seen.
type name struct {
	quoted string // as it is written, with its quotes
	number int    // of the wanted member, plus their count if the case differs, or the constant other
	next   int    // the name that last followed it, in met; 0 if none has
}

// other is the number of a member that is not wanted.
const other = -1

// mostMet and longestMet bound the number and length of stored names.
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

// fold returns a form that is equal for names that differ in case only.
func fold(name string) string {
	var folded []byte
	for _, r := range name {
		folded = utf8.AppendRune(folded, foldRune(r))
	}
	return string(folded)
}

// foldRune returns the smallest of the runes that differ in case only.
func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// at returns the member whose name begins at i, and where the name ends; -1 if there is no valid name.
func (n *names) at(text []byte, i int) (number, end int) {
	next := n.met[n.last].next
	for range 2 { // the expected name, or the one after it if that is left out
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

// find returns the member of a name that was not expected.
func (n *names) find(quoted []byte) int {
	m, known := n.byText[string(quoted)]
	if !known {
		found := name{quoted: string(quoted), number: n.look(string(Unescape(nil, quoted[1:len(quoted)-1])))}
		if found.number >= 0 {
			n.had[found.number%len(n.had)] = true
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

// look looks a name up: as it is, then without regard to case if that is asked for.
func (n *names) look(name string) int {
	if number, ok := n.wanted[name]; ok {
		return number
	}
	if n.folded != nil {
		if number, ok := n.folded[fold(name)]; ok {
			return number + len(n.had)
		}
	}
	return other
}
