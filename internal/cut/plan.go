package cut

import (
	"slices"
	"strconv"

	"github.com/gofleet/gofleet/internal/wire"
)

// Work is something that servers do in a cut. A plan is made of some works; the others begin and end every cut.
type Work string

const (
	Hold  Work = "hold"  // pushes wait, and updates under way come to their end
	Reach Work = "reach" // the steps of the cut come into the tables; an image, a list, or what is read is set aside
	Free  Work = "free"  // the cut is over, and pushes go on

	Write  Work = "write"  // each server writes its part of a checkpoint
	Commit Work = "commit" // server 0 makes the parts a checkpoint
	Read   Work = "read"   // the anchor reads what Reach listed, or servers have read a directory beside their tables
	End    Work = "end"    // a period of the tables ends
	Mark   Work = "mark"   // what the anchor has read counts as served
	Take   Work = "take"   // the tables become what was read beside them
)

// Plan is what is done in a cut, in this order.
type Plan []Work

// plans are all that there are.
var plans = []Plan{
	{Write, Commit},      // a checkpoint
	{End},                // Shrink
	{Write, Commit, End}, // a batch and the end of its period
	{Read},               // a model for inference
	{Read, Mark},         // a model for serving
	{Read, Take},         // a load
}

// Check refuses a plan that servers don't know.
func (p Plan) Check() error {
	if !slices.ContainsFunc(plans, func(known Plan) bool { return slices.Equal(known, p) }) {
		return wire.Refuse(wire.StatusRefused, "no cut has the plan %q: all processes must be of one build", p)
	}
	return nil
}

// Has says whether a work is part of the plan.
func (p Plan) Has(w Work) bool { return slices.Contains(p, w) }

// Final is the work that can't be taken back once one server has done it, "" if the plan has none.
func (p Plan) Final() Work {
	if w := p[len(p)-1]; w == End || w == Mark || w == Take {
		return w
	}
	return ""
}

// lets says that pushes go on once there is an image of the tables, since nothing but the commit follows.
func (p Plan) lets() bool { return p.Has(Write) && p.Final() == "" }

// waits says whether the anchor must speak before the leader goes on behind a work: it brings progress for a checkpoint
// when all servers hold, and reads what was listed.
func (p Plan) waits(behind Work) bool {
	if behind == Hold {
		return p.Has(Write)
	}
	return behind == Reach && p.Has(Read) && p.Final() != Take
}

// FileID names the files of a cut, in whatever directory they are: the generation keeps jobs apart, and the number cuts
// of one job.
func FileID(generation, number uint64) string {
	return strconv.FormatUint(generation, 36) + "-" + strconv.FormatUint(number, 10)
}
