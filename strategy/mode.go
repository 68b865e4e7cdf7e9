package strategy

import (
	"fmt"
	"strings"
)

// Mode is how workers' gradients meet.
type Mode string

const (
	// ModeSync applies one averaged update a round, when every worker of the round has contributed.
	ModeSync Mode = "sync"
	// ModeAsync applies each worker's gradient on arrival.
	ModeAsync Mode = "async"
	// ModeHalfAsync is async between workers, while the training threads of one worker meet: their gradients of a step
	// are merged into one push, and all go on with the same parameters.
	ModeHalfAsync Mode = "half_async"
	// ModeSSP is async with a bound: no worker is more than Staleness steps ahead of the slowest.
	ModeSSP Mode = "ssp"
	// ModeGeo trains on the workers: each has a copy of the model and applies its own gradients (plain gradient
	// descent), and every KSteps steps exchanges with the servers what has changed.
	ModeGeo Mode = "geo"
)

// Modes are all modes.
func Modes() []Mode { return []Mode{ModeSync, ModeAsync, ModeHalfAsync, ModeSSP, ModeGeo} }

// Weighting is what each worker's gradient g_i, a mean over its n_i samples, counts in a round of sync mode.
type Weighting string

const (
	// WeightSamples gives Σ n_i·g_i / Σ n_i, the gradient of the joined batch whatever its parts' sizes.
	WeightSamples Weighting = "samples"
	// WeightEqual gives Σ g_i / N over the N members of the round, for a row of an embedding also when few members
	// touched it. With equal batches it is the same as WeightSamples.
	WeightEqual Weighting = "equal"
	// WeightPushes is WeightEqual except for a row of an embedding, whose sum is divided by the number of members that
	// touched that row.
	WeightPushes Weighting = "pushes"
)

// Weightings are all weightings.
func Weightings() []Weighting { return []Weighting{WeightSamples, WeightEqual, WeightPushes} }

// Merge is how gradients of several steps or threads become one.
type Merge string

const (
	// MergeMean gives Σ n_i·g_i / Σ n_i, the gradient of the joined batch.
	MergeMean Merge = "mean"
	// MergeSum gives Σ g_i.
	MergeSum Merge = "sum"
)

// Merges are all ways to merge.
func Merges() []Merge { return []Merge{MergeMean, MergeSum} }

// GeoRest is what becomes of the part of a worker's change that an exchange of mode geo leaves, 1 − 1/N of it.
type GeoRest string

const (
	// GeoRestSend sends it: that of dense parameters and of rows that change again with the next exchange's share, that
	// of other rows whole with the next exchange, and all that is left before a barrier, a save and the end.
	GeoRestSend GeoRest = "send"
	// GeoRestKeep is what the original does: a row that does not change again keeps it, and nothing is sent at the end.
	GeoRestKeep GeoRest = "keep"
)

// GeoRests are all ways.
func GeoRests() []GeoRest { return []GeoRest{GeoRestSend, GeoRestKeep} }

// NotFinite is what becomes of a gradient that holds NaN or an infinity. It is decided on the worker, for the whole
// step, before any server has seen it; servers refuse what is not finite.
type NotFinite string

const (
	// NotFiniteRefuse fails the step, and names the variable or row.
	NotFiniteRefuse NotFinite = "refuse"
	// NotFiniteSkip leaves the row out of the step; a dense variable's gradient counts as zero.
	NotFiniteSkip NotFinite = "skip"
	// NotFiniteClip makes NaN 0 and an infinity the largest finite magnitude in the same row or variable.
	NotFiniteClip NotFinite = "clip"
)

// NotFinites are all policies for what is not finite.
func NotFinites() []NotFinite { return []NotFinite{NotFiniteRefuse, NotFiniteSkip, NotFiniteClip} }

// Codecs are the names of all codecs.
func Codecs() []string { return []string{"none", "s2", "zstd", "gzip"} }

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
