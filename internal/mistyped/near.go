package mistyped

import "strings"

// nearBy is how many letters a mistyped name may lack, have too many, or have wrong.
const nearBy = 2

// Near returns the name of known that was probably meant by name, "" if there is none. In a short name at most half of
// the letters may be wrong.
func Near(name string, known []string) string {
	best, at := min(nearBy, len(name)/2)+1, ""
	for _, k := range known {
		if d := distance(name, k); d < best {
			best, at = d, k
		}
	}
	return at
}

// meant returns the variable of known that was probably meant by name, "" if there is none. It compares what follows
// the prefix: at most a third of its letters may be wrong, or two neighbours swapped.
func meant(prefix, name string, known []string) string {
	rest := strings.TrimPrefix(name, prefix)
	best, at := min(nearBy, len(rest)/3)+1, ""
	for _, k := range known {
		own, ours := strings.CutPrefix(k, prefix)
		d := distance(rest, own)
		if swapped(rest, own) {
			d = 1
		}
		if ours && d < best {
			best, at = d, k
		}
	}
	return at
}

// swapped reports whether b is a with two neighbouring letters swapped.
func swapped(a, b string) bool {
	for i := 1; i < len(a) && len(a) == len(b); i++ {
		if a[i-1] != b[i-1] {
			return a[i-1] == b[i] && a[i] == b[i-1] && a[i+1:] == b[i+1:]
		}
	}
	return false
}

// distance returns how many letters must be inserted, removed or changed to turn a into b (Levenshtein, 1966).
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of a's letters so far against each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
