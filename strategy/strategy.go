package strategy

import (
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/strategy/placement"
)

// Strategy is how a job trains. The zero value is asynchronous training with every default.
type Strategy struct {
	// Mode is how workers' gradients meet: "sync", "async", "half_async", "ssp" or "geo". Empty means async, or sync
	// where a field is set that only jobs without servers have.
	Mode Mode `json:"mode,omitempty"`
	// Staleness is how many steps a worker may be ahead of the slowest, in mode ssp; 0 means in step.
	Staleness int `json:"staleness,omitempty"`

	// KSteps is how many steps a worker makes between two exchanges, in mode geo; 0 means 100.
	KSteps int `json:"k_steps,omitempty"`
	// GeoRest is what becomes of what an exchange leaves, in mode geo: "send" (the default) or "keep".
	GeoRest GeoRest `json:"geo_rest,omitempty"`

	// LookAhead asks for the next batch's rows and for dense weights when a batch begins, in mode async, so that no
	// step waits for the network. Every gradient then misses the last update of its own worker, besides other workers';
	// see [Async] for the price.
	LookAhead bool `json:"look_ahead,omitempty"`
	// NoForesight turns prediction off, in modes async, half_async and ssp. By default servers send dense weights as
	// the rule's momentum will have moved them when the thread's next gradient arrives. Rules without momentum, such as
	// SGD and Adagrad, foresee nothing; neither does DelayCompensation.
	NoForesight bool `json:"no_foresight,omitempty"`
	// Merge is how gradients that travel together in modes async and half_async become one: "mean", weighted by
	// samples, or "sum". Empty means, in async, the sum for params whose rule is additive (plain SGD: see package
	// optimizer, "Which gradients may be added up"), since that is what pushing one by one does, and the mean for all
	// others. In async gradients travel together where MaxMergeVarNum is above 1.
	Merge Merge `json:"merge,omitempty"`
	// MaxMergeVarNum is how many gradients that wait to be sent may be merged into one push, in mode async; 0 means 1.
	MaxMergeVarNum int `json:"max_merge_var_num,omitempty"`
	// SendQueueSize is how many gradients, merged or not, may wait to be sent before the training loop does, in mode
	// async; 0 means 1.
	SendQueueSize int `json:"send_queue_size,omitempty"`
	// SendWaitTimes is how many times 10 ms a gradient waits for others to be merged with it, in mode async, while
	// fewer than MaxMergeVarNum are there; 0 means not at all.
	SendWaitTimes int `json:"send_wait_times,omitempty"`
	// ThreadPoolSize is how many requests of a training thread may be under way at a time, in mode async; 0 means 1.
	// With more than one, pushes may overtake each other.
	ThreadPoolSize int `json:"thread_pool_size,omitempty"`
	// IndependentRecvThread brings dense parameters by requests of their own, beside training, instead of in the
	// answers to pushes, in mode async.
	IndependentRecvThread bool `json:"independent_recv_thread,omitempty"`
	// MinSendGradNumBeforeRecv is how many gradients are pushed before dense parameters are brought again, in mode
	// async; 0 means 1.
	MinSendGradNumBeforeRecv int `json:"min_send_grad_num_before_recv,omitempty"`
	// DelayCompensation is λ of delay-compensated training in mode async: a server adds λ·g·g·(w−b) to each gradient g
	// of a dense parameter w, b being what its worker last pulled. 0 means none; 1 is the original's enable_dc_asgd.
	// The server keeps a copy of its dense parameters for each worker.
	DelayCompensation float64 `json:"delay_compensation,omitempty"`

	// Placement names the policy that gives blocks of parameters their servers: "RoundRobin" (the default), "HashName",
	// "Balanced", or one that the program registers.
	Placement string `json:"placement,omitempty"`
	// NoSlice keeps every variable in one block instead of cutting large ones over the servers.
	NoSlice bool `json:"no_slice,omitempty"`
	// MinBlockSize is the smallest block that a variable is cut into, in elements; 0 means 8192.
	MinBlockSize int `json:"min_block_size,omitempty"`
	// SmallBlocks permits a MinBlockSize below 8192, as tests of small models need.
	SmallBlocks bool `json:"small_blocks,omitempty"`

	// Codec compresses messages: "none" (the default), "s2", "zstd" or "gzip". A message is sent raw if it does not
	// shrink.
	Codec string `json:"codec,omitempty"`

	// Payload is how pushed gradients travel: "float32" (the default), "float16", "bfloat16" or "int8". Pulled weights
	// are float32 always.
	Payload Payload `json:"payload,omitempty"`

	// MaxFrame bounds the messages of a training step, in bytes; what is larger travels in pieces. 0 means 64 MiB, and
	// it is at least 4096. The transport's own bound holds too.
	MaxFrame int `json:"max_frame,omitempty"`

	// NotFinite is what becomes of gradients that hold NaN or infinities: "refuse" (the default), "skip" or "clip".
	NotFinite NotFinite `json:"not_finite,omitempty"`

	// HeartbeatInterval is how often a worker that has nothing else to say shows that it lives; 0 means 1s.
	HeartbeatInterval Duration `json:"heartbeat_interval,omitempty"`
	// WorkerTimeout is the silence after which a worker counts as dead; 0 means 30s.
	WorkerTimeout Duration `json:"worker_timeout,omitempty"`
	// StartTimeout bounds how long a worker waits for servers, and a server for workers, to appear; 0 means 3m.
	StartTimeout Duration `json:"start_timeout,omitempty"`
	// WaitTimeout bounds every wait for another worker: a barrier, a round, a save; 0 means 15m. At a barrier and in a
	// round it stands still while a worker that is waited for lives and computes, such as one that evaluates by itself,
	// up to 16 times as long.
	WaitTimeout Duration `json:"wait_timeout,omitempty"`

	// Weighting is what a worker's gradient counts in a round of sync mode; empty means "samples". Async mode has no
	// rounds and refuses it.
	Weighting Weighting `json:"weighting,omitempty"`

	// FuseGradSizeInMB bounds, in MiB, how much of the gradients is added up at a time in jobs without servers; 0 means
	// 32.
	FuseGradSizeInMB int `json:"fuse_grad_size_in_MB,omitempty"`
	// LocalSGD and AdaptiveLocalSGD let workers without servers meet more rarely, in mode sync.
	LocalSGD         LocalSGD         `json:"localsgd,omitzero"`
	AdaptiveLocalSGD AdaptiveLocalSGD `json:"adaptive_localsgd,omitzero"`
	// GradientMerge makes one push of the gradients of several steps.
	GradientMerge GradientMerge `json:"gradient_merge,omitzero"`

	// Recovery has checkpoints saved by themselves, and a job that is started again go on from the newest.
	Recovery Recovery `json:"recovery,omitzero"`
}

// DefaultMaxFrame is 64 MiB.
const DefaultMaxFrame = 64 << 20

// The defaults of a strategy's times.
const (
	DefaultHeartbeatInterval = Duration(time.Second)
	DefaultWorkerTimeout     = Duration(30 * time.Second)
	DefaultStartTimeout      = Duration(180 * time.Second)
	DefaultWaitTimeout       = Duration(15 * time.Minute)
)

// Sync is training in rounds: every worker's gradient of a step is averaged into one update, so many workers train as
// one process with the joined batch would, at the speed of the slowest.
func Sync() Strategy { return Strategy{Mode: ModeSync} }

// HalfAsync is [Async] with the training threads of each worker in step.
func HalfAsync() Strategy { return Strategy{Mode: ModeHalfAsync} }

// SSP is [Async] in which no worker is more than staleness steps ahead of the slowest.
func SSP(staleness int) Strategy { return Strategy{Mode: ModeSSP, Staleness: staleness} }

// Geo is training on the workers, which exchange what has changed every k steps, and at an epoch's end. The rule must
// be plain gradient descent.
//
// Servers add up what workers have changed, so k steps of N workers that begin at one model move it as far as N·k
// steps would. Where layers are dense and an epoch is short, choose k well below its steps: the digits of
// examples/mnist, 62 steps an epoch on each of 2 workers, come to an accuracy of 0.93 after ten epochs with k = 1 and
// k = 10, as one process comes to 0.94, and to 0.90 with one exchange an epoch.
func Geo(k int) Strategy { return Strategy{Mode: ModeGeo, KSteps: k} }

// Async is training without rounds: a server applies each gradient when it arrives and answers with the newest
// parameters. No worker waits for another; gradients miss the updates that others have made since their parameters were
// pulled.
//
// By default a step sees all updates of its own worker, and its gradient misses N−1 of N workers that are equally fast.
// What momentum does with that is foreseen (NoForesight has it left out), so that as many examples train a model about
// as well as in one process: on the flights of examples/wide_and_deep within 0.001 of its test AUC, as the table of
// BENCHMARKS.md says, with 2 and 4 workers and batches of 128 and 512.
//
// More staleness is a choice, and each has its price:
//
//   - LookAhead asks for the next batch's rows and dense parameters when a batch begins, so that no step waits for the
//     network. A gradient then misses the last update of its own worker and about two of each other one, 2N−1 in all.
//     It pays where the network is slow beside a batch, and where batches are small or workers few: with batches of 512
//     the flights lost 0.002 of AUC.
//   - SendQueueSize and ThreadPoolSize above 1 let so many gradients wait, and travel, while the next steps are
//     computed: each of them misses the ones before.
//   - MaxMergeVarNum makes one push, and one update, of up to so many steps. Under plain SGD their sum is what they
//     would have been one by one; under other rules a push of n steps is one step of a batch n times as large, and an
//     epoch has an n-th of the updates.
//   - MinSendGradNumBeforeRecv and IndependentRecvThread bring dense parameters more rarely: steps in between compute
//     on old ones.
//
// stats.Counts has the staleness that was measured.
func Async() Strategy { return Strategy{Mode: ModeAsync} }

// Named is the preset of that name, as a flag -mode has it: "sync", "async", "half_async", "ssp" or "geo".
func Named(name string) (Strategy, error) {
	if slices.Contains(Modes(), Mode(name)) {
		return Strategy{Mode: Mode(name)}, nil
	}
	return Strategy{}, fmt.Errorf("strategy: no preset is called %q; there are %s", name, list(Modes()))
}

// WithDefaults fills in the default of every zero field that has one in this mode. The result means the same.
func (s Strategy) WithDefaults() Strategy {
	if s.WithoutServers() != "" {
		set(&s.Mode, ModeSync)
	}
	set(&s.Mode, ModeAsync)
	set(&s.Placement, placement.RoundRobin{}.Name())
	set(&s.Codec, "none")
	set(&s.Payload, PayloadFloat32)
	set(&s.MaxFrame, DefaultMaxFrame)
	set(&s.NotFinite, NotFiniteRefuse)
	set(&s.HeartbeatInterval, DefaultHeartbeatInterval)
	set(&s.WorkerTimeout, DefaultWorkerTimeout)
	set(&s.StartTimeout, DefaultStartTimeout)
	set(&s.WaitTimeout, DefaultWaitTimeout)
	if !s.NoSlice {
		set(&s.MinBlockSize, placement.DefaultMinBlockSize)
	}
	s.Recovery = s.Recovery.withDefaults()
	if s.LocalSGD.KSteps > 0 {
		set(&s.LocalSGD.BeginStep, 1)
	}
	if s.AdaptiveLocalSGD.InitKSteps > 0 {
		set(&s.AdaptiveLocalSGD.BeginStep, 1)
	}
	switch s.Mode {
	case ModeSync:
		if s.drifts() {
			set(&s.Weighting, WeightEqual)
		}
		set(&s.Weighting, WeightSamples)
	case ModeGeo:
		set(&s.KSteps, 100)
		set(&s.GeoRest, GeoRestSend)
	case ModeAsync:
		set(&s.MaxMergeVarNum, 1)
		set(&s.SendQueueSize, 1)
		set(&s.ThreadPoolSize, 1)
		set(&s.MinSendGradNumBeforeRecv, 1)
	}
	return s
}

// Sums says whether gradients of a param that travel together are added up rather than averaged, when its rule is
// additive or not.
func (s Strategy) Sums(additive bool) bool {
	return s.Merge == MergeSum || s.Merge == "" && s.Mode == ModeAsync && additive
}

// set gives a zero field its default.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
