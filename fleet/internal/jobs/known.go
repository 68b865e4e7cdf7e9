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
	{"a cut has averages of batch norm of steps whose merged gradients it has not", func(p Program) bool {
		return p.Model.Net.Norm > 0 && p.Strategy.GradientMerge.KSteps > 1
	}, []string{"the history is", "out/model", "best", "published"}},
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
