package jobs

import (
	"slices"
	"strings"
)

// defect is one that is known: a program that has it may fail so. Its line goes when it is mended.
type defect struct {
	name string
	has  func(p Program) bool
	says []string // how what is wrong begins; anything if empty
}

// defects are those of the loop today.
var defects = []defect{
	{"a cut has the averages of batch norm of the worker that saves", func(p Program) bool {
		several := func(l Life) bool { return l.Workers > 1 || p.Strategy.GradientMerge.KSteps > 1 }
		return p.Model.Net.Norm > 0 && slices.ContainsFunc(p.Lives, several)
	}, []string{"the history is", "out/model", "best", "published"}},
	{"roles that are all started again with a journal take each other for ahead",
		func(p Program) bool { return p.Journal }, nil},
	{"the examples of a worker that is lost are in no history", Program.behind, []string{"the history ends"}},
	{"a hook Evaluated that is interrupted is not called again", func(p Program) bool {
		return p.Tests > 0 && slices.ContainsFunc(p.Lives, func(l Life) bool {
			return slices.ContainsFunc(l.Strikes, func(s Strike) bool { return s.At != "step" })
		})
	}, []string{"nn: loading", "best"}},
}

// behind says whether a worker may be behind the others when all are started again.
func (p Program) behind() bool {
	return slices.ContainsFunc(p.Lives, func(l Life) bool {
		return !p.inStep(l) && slices.ContainsFunc(l.Strikes, func(s Strike) bool { return s.Role != "all" })
	})
}

// Known are the names of known defects that a program has and that explain all that is wrong; none if something is
// not explained.
func Known(p Program, wrong []string) (names []string) {
	for _, w := range wrong {
		i := slices.IndexFunc(defects, func(d defect) bool {
			says := func(begin string) bool { return strings.HasPrefix(w, begin) }
			return d.has(p) && (len(d.says) == 0 || slices.ContainsFunc(d.says, says))
		})
		if i < 0 {
			return nil
		}
		names = append(names, defects[i].name)
	}
	return slices.Compact(names)
}
