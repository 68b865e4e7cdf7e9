package mistyped

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
