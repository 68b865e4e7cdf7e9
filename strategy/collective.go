package strategy

import (
	"errors"
	"fmt"
	"strings"
)

// LocalSGD lets each worker of a collective job update its own copy of the weights, and sets all copies to their mean
// every k steps. Every copy counts the same, so Weighting is "equal". The rule must be SGD or Momentum, and the model
// must have no embeddings. It has no effect on a process alone.
type LocalSGD struct {
	// KSteps is how many steps a worker makes between two exchanges; 0 means no LocalSGD.
	KSteps int `json:"k_steps,omitempty"`
	// BeginStep is the last of the first steps that are each followed by an exchange, whatever KSteps is; 0 means 1.
	BeginStep int `json:"begin_step,omitempty"`
}

// AdaptiveLocalSGD is LocalSGD whose k follows the loss and the learning rate: after every exchange
//
//	k = ⌈√(lr₀·loss / (lr·loss₀) · InitKSteps)⌉, at least 1 and at most 16
//
// where loss is the mean of the latest losses of the workers that have made a step since the previous exchange, and lr₀
// and loss₀ are those of the first step. At the end of an epoch all workers take worker 0's k. The objective must
// report its loss (optimizer.Step.Loss), as objectives of package nn do.
type AdaptiveLocalSGD struct {
	// InitKSteps is the k to begin with; 0 means no adaptive LocalSGD.
	InitKSteps int `json:"init_k_steps,omitempty"`
	// BeginStep is the last of the first steps that are each followed by an exchange, whatever k is; 0 means 1.
	BeginStep int `json:"begin_step,omitempty"`
}

// GradientMerge makes a worker push the gradients of k steps as one, so that a batch can be k times larger than fits
// into memory: with equal batches, k steps train like one step on the joined batch. It works in every mode but geo,
// with servers, without servers and in a process alone. Gradients left over at the end of an epoch, at a barrier and
// when the worker stops are pushed by themselves. A checkpoint holds only what was pushed, so save it after EndEpoch.
type GradientMerge struct {
	// KSteps is how many steps make an update; 0 and 1 mean no merge.
	KSteps int `json:"k_steps,omitempty"`
	// Sum adds the k gradients, Σ gᵢ; otherwise they are averaged weighted by samples, Σ nᵢgᵢ / Σ nᵢ, as in the joined
	// batch. It is the original's avg with the opposite meaning.
	Sum bool `json:"sum,omitempty"`
}

// checkCollective checks what only jobs without servers have.
func (s Strategy) checkCollective() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int
	}{
		{"fuse_grad_size_in_MB", s.FuseGradSizeInMB}, {"localsgd: k_steps", s.LocalSGD.KSteps},
		{"localsgd: begin_step", s.LocalSGD.BeginStep}, {"adaptive_localsgd: init_k_steps",
			s.AdaptiveLocalSGD.InitKSteps},
		{"adaptive_localsgd: begin_step", s.AdaptiveLocalSGD.BeginStep},
	} {
		switch {
		case f.value < 0:
			errs = append(errs, fmt.Errorf("strategy: %s is %d; it can't be negative", f.name, f.value))
		case f.value > 0 && s.Mode != ModeSync && !strings.HasSuffix(f.name, "begin_step"): // k_steps has said it
			errs = append(errs, fmt.Errorf("strategy: %s is %d, but only mode %q, in jobs without servers, has it; "+
				"leave it out", f.name, f.value, ModeSync))
		}
	}
	errs = append(errs, s.checkMerge())
	switch {
	case s.LocalSGD.KSteps == 0 && s.LocalSGD.BeginStep > 0:
		errs = append(errs, errors.New("strategy: localsgd has begin_step and no k_steps; give both or none"))
	case s.AdaptiveLocalSGD.InitKSteps == 0 && s.AdaptiveLocalSGD.BeginStep > 0:
		errs = append(errs, errors.New("strategy: adaptive_localsgd has begin_step and no init_k_steps; give both or "+
			"none"))
	case s.LocalSGD.KSteps > 0 && s.AdaptiveLocalSGD.InitKSteps > 0:
		errs = append(errs, errors.New("strategy: localsgd and adaptive_localsgd both say how often workers meet; "+
			"leave one out"))
	case s.drifts() && s.Mode == ModeSync && s.Weighting != WeightEqual:
		errs = append(errs, fmt.Errorf("strategy: weighting is %q, but localsgd has no gradients to weigh: every "+
			"worker's copy of the weights counts the same; leave it out", s.Weighting))
	case s.drifts() && s.GradientMerge.KSteps > 1:
		errs = append(errs, errors.New("strategy: localsgd and gradient_merge both say how often workers meet; leave "+
			"one out"))
	}
	return errors.Join(errs...)
}

// drifts says whether workers have copies of the weights that differ for some steps.
func (s Strategy) drifts() bool { return s.LocalSGD.KSteps > 0 || s.AdaptiveLocalSGD.InitKSteps > 0 }

func (s Strategy) checkMerge() error {
	switch k := s.GradientMerge.KSteps; {
	case k < 0:
		return fmt.Errorf("strategy: gradient_merge: k_steps is %d; it can't be negative", k)
	case k == 0 && s.GradientMerge.Sum:
		return errors.New("strategy: gradient_merge has sum and no k_steps; give both or none")
	case k > 1 && s.Mode == ModeGeo:
		return fmt.Errorf("strategy: gradient_merge: k_steps is %d, but in mode geo workers push no gradients: each "+
			"step trains the worker's own copy, and k_steps says how rarely copies are exchanged; leave it out", k)
	}
	return nil
}

// WithServers names a field that is set and applies only to jobs with servers, with its value, such as "payload int8";
// "" if there is none.
func (s Strategy) WithServers() string {
	s = s.WithDefaults()
	d := Strategy{Mode: s.Mode}.WithDefaults()
	switch {
	case s.Placement != d.Placement:
		return "placement " + s.Placement
	case s.NoSlice:
		return "no_slice"
	case s.SmallBlocks:
		return "small_blocks"
	case s.MinBlockSize != d.MinBlockSize:
		return fmt.Sprint("min_block_size ", s.MinBlockSize)
	case s.Payload != d.Payload:
		return "payload " + string(s.Payload)
	case s.MaxFrame != d.MaxFrame:
		return fmt.Sprint("max_frame ", s.MaxFrame)
	case s.MaxMemory != 0:
		return fmt.Sprint("max_memory ", s.MaxMemory)
	case s.Recovery.Journal != "":
		return "recovery: journal " + string(s.Recovery.Journal)
	case s.Recovery.WorkerLost != "":
		return "recovery: worker_lost " + string(s.Recovery.WorkerLost)
	}
	return ""
}

// WithoutServers names a field that is set and applies only to jobs without servers; "" if there is none.
func (s Strategy) WithoutServers() string {
	switch {
	case s.LocalSGD != LocalSGD{}:
		return "localsgd"
	case s.AdaptiveLocalSGD != AdaptiveLocalSGD{}:
		return "adaptive_localsgd"
	case s.FuseGradSizeInMB != 0:
		return "fuse_grad_size_in_MB"
	}
	return ""
}
