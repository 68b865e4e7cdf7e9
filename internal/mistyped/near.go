package mistyped

import "strings"

// nearBy is how many letters may be missing, too many or wrong in a name that was meant to be another.
const nearBy = 2

// Near is the name of known that name was probably meant to be, "" if there is none. Of a short name at most half the
// letters may be wrong.
func Near(name string, known []string) string {
	best, at := min(nearBy, len(name)/2)+1, ""
	for _, k := range known {
		if d := distance(name, k); d < best {
			best, at = d, k
		}
	}
	return at
}

// meant is the variable of known that name was probably meant to be, "" if there is none. Names are alike in what
// stands behind the prefix: at most a third of that may be wrong, or two neighbours swapped.
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

// swapped says whether b is a with two neighbours swapped.
func swapped(a, b string) bool {
	for i := 1; i < len(a) && len(a) == len(b); i++ {
		if a[i-1] != b[i-1] {
			return a[i-1] == b[i] && a[i] == b[i-1] && a[i+1:] == b[i+1:]
		}
	}
	return false
}

// distance is how many letters are to be inserted, taken away or changed to make b of a (Levenshtein, 1966).
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
