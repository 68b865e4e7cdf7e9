package jobs

import "slices"

// defect is one that is known: a program that has it may fail. Its line goes when it is mended.
type defect struct {
	name string
	has  func(p Program) bool
}

// defects are those of the loop today.
var defects = []defect{
	{"a cut has the averages of batch norm of the worker that saves", func(p Program) bool {
		several := func(l Life) bool { return l.Workers > 1 || p.Strategy.GradientMerge.KSteps > 1 }
		return p.Model.Net.Norm > 0 && slices.ContainsFunc(p.Lives, several)
	}},
	{"roles that are all started again with a journal take each other for ahead",
		func(p Program) bool { return p.Journal }},
	{"the examples of a worker that is lost are in no history", Program.behind},
	{"a hook Evaluated that is interrupted is not called again", func(p Program) bool {
		return p.Tests > 0 && slices.ContainsFunc(p.Lives, func(l Life) bool {
			return slices.ContainsFunc(l.Strikes, func(s Strike) bool { return s.At != "step" })
		})
	}},
}

// behind says whether a worker may be behind the others when all are started again.
func (p Program) behind() bool {
	return slices.ContainsFunc(p.Lives, func(l Life) bool {
		return !p.inStep(l) && slices.ContainsFunc(l.Strikes, func(s Strike) bool { return s.Role != "all" })
	})
}

// Known are the names of known defects that a program has.
func Known(p Program) (names []string) {
	for _, d := range defects {
		if d.has(p) {
			names = append(names, d.name)
		}
	}
	return names
}
