package cut

import (
	"slices"
	"strconv"

	"github.com/gofleet/gofleet/internal/wire"
)

// Work is something that servers do in a cut. Plans consist of some works; the others begin and end every cut.
type Work string

const (
	Hold  Work = "hold"  // pushes wait, and updates under way end
	Reach Work = "reach" // the tables take the steps of the cut; an image, a list, or what is read is made
	Free  Work = "free"  // the cut is over, and pushes go on

	Write  Work = "write"  // each server writes its part of a checkpoint
	Commit Work = "commit" // server 0 makes the parts a checkpoint
	Read   Work = "read"   // the anchor reads what Reach listed, or servers have read a directory beside their tables
	End    Work = "end"    // a period of the tables ends
	Mark   Work = "mark"   // what the anchor has read counts as served
	Take   Work = "take"   // what was read replaces the tables
)

// Plan is the works of a cut, in order.
type Plan []Work

// plans holds all plans.
var plans = []Plan{
	{Write, Commit},      // a checkpoint
	{End},                // Shrink
	{Write, Commit, End}, // a batch and the end of its period
	{Read},               // a model for inference
	{Read, Mark},         // a model for serving
	{Read, Take},         // a load
}

// Check returns an error for a plan that servers do not have.
func (p Plan) Check() error {
	if !slices.ContainsFunc(plans, func(known Plan) bool { return slices.Equal(known, p) }) {
		return wire.Refuse(wire.StatusRefused, "unknown cut plan %q: run the same build everywhere", p)
	}
	return nil
}

// Has reports whether a work is part of the plan.
func (p Plan) Has(w Work) bool { return slices.Contains(p, w) }

// Final returns the work that can't be undone once one server has done it, "" if the plan has none.
func (p Plan) Final() Work {
	if w := p[len(p)-1]; w == End || w == Mark || w == Take {
		return w
	}
	return ""
}

// resumes reports whether pushes go on once there is an image of the tables, since only the commit follows.
func (p Plan) resumes() bool { return p.Has(Write) && p.Final() == "" }

// waits reports whether the leader waits for the anchor after a work: after Hold for a checkpoint's progress, after
// Reach while the anchor reads.
func (p Plan) waits(behind Work) bool {
	if behind == Hold {
		return p.Has(Write)
	}
	return behind == Reach && p.Has(Read) && p.Final() != Take
}

// FileID returns the id of a cut's files in any directory: the generation keeps jobs apart, and the number cuts of one
// job.
func FileID(generation, number uint64) string {
	return strconv.FormatUint(generation, 36) + "-" + strconv.FormatUint(number, 10)
}
