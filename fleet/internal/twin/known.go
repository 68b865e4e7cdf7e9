package twin

// Known is a defect that is known: a program that has it may differ from the twin. Who mends it removes its line.
type Known struct {
	Name string
	// Program is one that fails by it today, a file of testdata/known; TestKnown says when it no longer does.
	Program string
	// Has says whether a program may show it.
	Has func(p Program) bool
}

// Defects are those known today.
var Defects []Known

// KnownOf are the names of known defects that a program may show.
func KnownOf(p Program) (names []string) {
	for _, d := range Defects {
		if d.Has(p) {
			names = append(names, d.Name)
		}
	}
	return names
}
