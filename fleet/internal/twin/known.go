package twin

// Known is a defect that is known: a program that has it may differ from the twin. Who mends it removes its line.
type Known struct {
	Name string
	// Seed is one that fails by it today; TestKnown says when it no longer does.
	Seed uint64
	// Has says whether a program may show it.
	Has func(p Program) bool
}

// Defects are those known today.
var Defects = []Known{
	{"CountFilter counts a round once, however many workers pushed the id", 14, func(p Program) bool {
		for _, t := range p.Net.Tables {
			if t.Count > 1 && p.Legs[0].Workers > 1 {
				return true
			}
		}
		return false
	}},
	{"a model without rows begins an epoch with the weights of the worker's last push", 24, func(p Program) bool {
		return len(p.Net.tables()) == 0 && p.Legs[0].Workers > 1
	}},
}

// KnownOf are the names of known defects that a program may show.
func KnownOf(p Program) (names []string) {
	for _, d := range Defects {
		if d.Has(p) {
			names = append(names, d.Name)
		}
	}
	return names
}
