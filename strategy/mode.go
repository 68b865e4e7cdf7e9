package strategy

import (
	"fmt"
	"strings"
)

// Mode is how the gradients of several workers are combined.
type Mode string

const (
	// ModeSync applies one averaged update per round, when every worker of the round has contributed.
	ModeSync Mode = "sync"
	// ModeAsync applies each worker's gradient on arrival.
	ModeAsync Mode = "async"
	// ModeHalfAsync is async between workers and synchronous within each: the gradients of a worker's training threads
	// in a step are merged into one push, and all threads go on with the same parameters.
	ModeHalfAsync Mode = "half_async"
	// ModeSSP is async with bounded staleness: no worker is more than Staleness steps ahead of the slowest.
	ModeSSP Mode = "ssp"
	// ModeGeo trains on the workers: each has a copy of the model and applies its own gradients (plain gradient
	// descent), and every KSteps steps exchanges its changes with the servers.
	ModeGeo Mode = "geo"
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{ModeSync, ModeAsync, ModeHalfAsync, ModeSSP, ModeGeo} }

// Weighting is the weight of each worker's gradient g_i, a mean over its n_i samples, in a round of sync mode.
type Weighting string

const (
	// WeightSamples gives Σ n_i·g_i / Σ n_i, the gradient of the joined batch, for batches of any sizes.
	WeightSamples Weighting = "samples"
	// WeightEqual gives Σ g_i / N over the N members of the round, even for an embedding row that only some members
	// touched. With batches of equal size it is the same as WeightSamples.
	WeightEqual Weighting = "equal"
	// WeightPushes is WeightEqual except for a row of an embedding, whose sum is divided by the number of members that
	// touched that row.
	WeightPushes Weighting = "pushes"
)

// Merge is how gradients of several steps or threads become one.
type Merge string

const (
	// MergeMean gives Σ n_i·g_i / Σ n_i, the gradient of the joined batch.
	MergeMean Merge = "mean"
	// MergeSum gives Σ g_i.
	MergeSum Merge = "sum"
)

// GeoRest says what happens to the part of a worker's change, 1 − 1/N of it, that an exchange of mode geo does not
// send.
type GeoRest string

const (
	// GeoRestSend sends it later: for dense parameters, and rows that change again, as part of the next exchange's
	// change; for other rows, whole with the next exchange. Everything left is sent before a barrier, a save and the
	// end.
	GeoRestSend GeoRest = "send"
	// GeoRestKeep does what the original does: the rest of a row that does not change again stays on the worker, and
	// nothing is sent at the end. Evaluations are of each worker's copy then, and not of the weights that are saved.
	GeoRestKeep GeoRest = "keep"
)

// NotFinite says what happens to a gradient that contains NaN or an infinity, or a number so large that three of them
// would make its rule's weights or state infinite (about 1e19 for rules that add up squares). The worker decides,
// for the whole step, before it sends anything; servers refuse gradients that are not finite.
type NotFinite string

const (
	// NotFiniteRefuse fails the step with an error that names the variable or row.
	NotFiniteRefuse NotFinite = "refuse"
	// NotFiniteSkip leaves the row out of the step; a dense variable's gradient counts as zero.
	NotFiniteSkip NotFinite = "skip"
	// NotFiniteClip makes NaN 0, and others the largest magnitude that the rule takes in the same row or variable.
	NotFiniteClip NotFinite = "clip"
)

// list is names for a sentence: "a", "b" or "c".
func list[T ~string](names []T) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	last := len(quoted) - 1
	if last < 1 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
