package twin

import "math"

// picks are which versions were read, by the name of what read them: of all that may have been read the nearest, by
// how far each may be off. The versions that the copies of the twin have had say that.
type picks struct {
	made   bool // the copies have played, and pick what is picked
	at     map[string]int
	copies [][][]*state // their versions whenever all have met
	// taken are signs in place of those of weights that are nearly 0; noted says that plays note of which weights they
	// ask signs, one behind the other.
	taken map[string]float64
	noted bool
	signs []*signs
}

// meet notes the versions of a copy.
func (k *picks) meet(number, meeting int, versions []*state) {
	if number > 0 && !k.made && len(k.copies[number-1]) == meeting {
		k.copies[number-1] = append(k.copies[number-1], append([]*state(nil), versions...))
	}
}

// pick is the version between two whose numbers are nearest to those that were got.
func (m *model) pick(name string, from, to int, got []float64, numbers func(*state) []float64) int {
	if at, ok := m.picks.at[name]; ok {
		return at
	}
	best, least := min(from, len(m.o.versions)-1), math.Inf(1)
	if m.number > 0 {
		return best
	}
	for v := from; v <= to && v < len(m.o.versions); v++ {
		copies := make([][]float64, len(m.picks.copies))
		for k, c := range m.picks.copies {
			copies[k] = numbers(c[m.meetings][v])
		}
		if d := m.far(got, numbers(m.o.versions[v]), copies); d < least {
			best, least = v, d
		}
	}
	m.picks.at[name] = best
	return best
}

// far is how far numbers are from what they should be, as a share of what they may be.
func (m *model) far(got, want []float64, copies [][]float64) (most float64) {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	for i := range want {
		may := m.p.allowed(want[i], i, copies, 0) // numbers of several params are not alike
		if !math.IsInf(may, 1) {
			most = math.Max(most, math.Abs(got[i]-want[i])/may)
		}
	}
	return most
}
