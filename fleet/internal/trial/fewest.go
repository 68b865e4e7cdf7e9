package trial

import "encoding/json"

// Fewest is the smallest program found that still fails, by leaving things out one after the other, as long as tries
// are left. A program is plain data, and less are the ways to leave one thing out of it.
func Fewest[P any](p P, less func(P) []func(*P), fails func(P) bool, tries int) P {
	for again := true; again; {
		again = false
		for k := 0; k < len(less(p)); k++ {
			smaller, changed := without(p, less(p)[k])
			if !changed {
				continue
			}
			if tries--; tries < 0 {
				return p
			}
			if fails(smaller) {
				p, again = smaller, true
				k-- // what was next has this place now
			}
		}
	}
	return p
}

// without is a copy of a program that lacks a thing; changed is false where it lacked that before.
func without[P any](p P, leave func(*P)) (smaller P, changed bool) {
	was, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(was, &smaller)
	}
	if err != nil {
		return p, false // it is no plain data
	}
	leave(&smaller)
	now, err := json.Marshal(smaller)
	return smaller, err == nil && string(now) != string(was)
}
