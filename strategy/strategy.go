package strategy

import (
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/strategy/placement"
)

// Strategy is how a job trains. The zero value is asynchronous training with every default.
type Strategy struct {
	// Mode is how the gradients of several workers are combined: "sync", "async", "half_async", "ssp" or "geo". Empty
	// means async, or sync if a field for jobs without servers is set.
	Mode Mode `json:"mode,omitempty"`
	// Staleness is how many steps a worker may be ahead of the slowest, in mode ssp; 0 means none.
	Staleness int `json:"staleness,omitempty"`

	// KSteps is how many steps a worker makes between two exchanges, in mode geo; 0 means 100.
	KSteps int `json:"k_steps,omitempty"`
	// GeoRest says what happens to the part of a change that an exchange does not send, in mode geo: "send" (the
	// default) or "keep".
	GeoRest GeoRest `json:"geo_rest,omitempty"`

	// LookAhead prefetches the next batch's rows and the dense weights when a batch begins, in mode async, so that no
	// step waits for the network. Every gradient is then computed without the last update of its own worker, in
	// addition to those of other workers; see [Async] for the cost.
	LookAhead bool `json:"look_ahead,omitempty"`
	// NoForesight turns prediction off, in modes async, half_async and ssp. By default servers send dense weights as
	// the rule's momentum will have moved them when the thread's next gradient arrives. There is no prediction for
	// rules without momentum, such as SGD and Adagrad, or with DelayCompensation.
	NoForesight bool `json:"no_foresight,omitempty"`
	// Merge is how gradients that travel together in modes async and half_async become one: "mean", weighted by
	// samples, or "sum". Empty means, in async, the sum for params whose rule is additive (plain SGD: see package
	// optimizer, "Which gradients may be added up"), which equals pushing them one by one, and the mean for all others.
	// In async gradients travel together if MaxMergeVarNum is above 1.
	Merge Merge `json:"merge,omitempty"`
	// MaxMergeVarNum is how many queued gradients may be merged into one push, in mode async; 0 means 1.
	MaxMergeVarNum int `json:"max_merge_var_num,omitempty"`
	// PushSamples is how many samples a push is to have, in mode async under plain SGD: gradients of smaller batches
	// are summed on their worker, of at most 20 steps and for at most 100 ms, and it adds them to the weights that it
	// trains with meanwhile, so that dense weights travel once for several steps. 0 means 512 over the square of the
	// job's threads if the model has 65,536 dense weights or more, and 1 if not, or if SGD has a Schedule, a table an
	// Entry, or another option of the queue, LookAhead or DelayCompensation is set. 1 pushes each step.
	PushSamples int `json:"push_samples,omitempty"`
	// SendQueueSize is how many gradients, merged or not, may be queued before the training loop blocks, in mode async;
	// 0 means 1.
	SendQueueSize int `json:"send_queue_size,omitempty"`
	// SendWaitTimes is how long a gradient waits for others to merge with while fewer than MaxMergeVarNum are queued,
	// in units of 10 ms, in mode async; 0 means not at all.
	SendWaitTimes int `json:"send_wait_times,omitempty"`
	// ThreadPoolSize is how many requests of a training thread may be in flight at a time, in mode async; 0 means 1.
	// With more than one, pushes may overtake each other.
	ThreadPoolSize int `json:"thread_pool_size,omitempty"`
	// IndependentRecvThread pulls dense parameters by separate requests, concurrently with training, instead of in the
	// responses to pushes, in mode async.
	IndependentRecvThread bool `json:"independent_recv_thread,omitempty"`
	// MinSendGradNumBeforeRecv is how many gradients are pushed before dense parameters are pulled again, in mode
	// async; 0 means 1.
	MinSendGradNumBeforeRecv int `json:"min_send_grad_num_before_recv,omitempty"`
	// DelayCompensation is λ of delay-compensated training in mode async: a server adds λ·g·g·(w−b) to each gradient g
	// of a dense parameter w, b being what its worker last pulled. 0 means none; 1 is the original's enable_dc_asgd.
	// The server keeps a copy of its dense parameters for each worker. A server that comes back from its journal has
	// no such copies, and applies the next gradient of each worker without compensation.
	DelayCompensation float64 `json:"delay_compensation,omitempty"`

	// Placement names the policy that assigns blocks of parameters to servers: "RoundRobin" (the default), "HashName",
	// "Balanced", or a policy of the program, of Placements in fleet.Options.
	Placement string `json:"placement,omitempty"`
	// NoSlice keeps every variable in one block instead of splitting large ones over the servers.
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

	// MaxFrame is the largest message of a training step, in bytes, at least 4096; larger messages are split. 0 means
	// 64 MiB. The transport's own limit also applies.
	MaxFrame int `json:"max_frame,omitempty"`
	// MaxMemory bounds the embeddings of a server that have no MaxBytes, by a share of the memory of its control group,
	// such as 0.8: the rest is for dense weights, messages and saves. Those whose Height takes less than their part of
	// it get what they need, and the others equal parts, as a MaxBytes, also for an Evict. Servers at one host share.
	// 0 means no bound; a server without a control group has none, and warns. It does not apply to mode geo.
	MaxMemory float64 `json:"max_memory,omitempty"`

	// NotFinite says what happens to gradients that contain NaN or infinities: "refuse" (the default), "skip" or
	// "clip".
	NotFinite NotFinite `json:"not_finite,omitempty"`

	// HeartbeatInterval is how often a worker sends a heartbeat while it sends nothing else; 0 means 1s.
	HeartbeatInterval Duration `json:"heartbeat_interval,omitempty"`
	// WorkerTimeout is the silence after which a worker counts as dead; 0 means 30s.
	WorkerTimeout Duration `json:"worker_timeout,omitempty"`
	// StartTimeout bounds how long a worker waits for servers, and a server for workers, to appear; 0 means 3m.
	StartTimeout Duration `json:"start_timeout,omitempty"`
	// WaitTimeout bounds every wait for another worker: at a barrier, in a round, during a save; 0 means 15m. At a
	// barrier and in a round the clock stops while the awaited worker is alive and computing, for example evaluating
	// alone, for up to 16 times as long.
	WaitTimeout Duration `json:"wait_timeout,omitempty"`

	// Weighting is the weight of each worker's gradient in a round of sync mode; empty means "samples". Modes without
	// rounds refuse it.
	Weighting Weighting `json:"weighting,omitempty"`

	// FuseGradSizeInMB bounds, in MiB, how much of the gradients is summed at a time in jobs without servers; 0 means
	// 32.
	FuseGradSizeInMB int `json:"fuse_grad_size_in_MB,omitempty"`
	// LocalSGD and AdaptiveLocalSGD make workers of jobs without servers exchange weights every few steps instead of
	// gradients in every step, in mode sync.
	LocalSGD         LocalSGD         `json:"localsgd,omitzero"`
	AdaptiveLocalSGD AdaptiveLocalSGD `json:"adaptive_localsgd,omitzero"`
	// GradientMerge pushes the gradients of several steps as one.
	GradientMerge GradientMerge `json:"gradient_merge,omitzero"`

	// Recovery saves checkpoints automatically, and makes a restarted job resume from the newest.
	Recovery Recovery `json:"recovery,omitzero"`
}

// Sync trains in rounds: the gradients of all workers in a step are averaged into one update. The job trains exactly
// like one process with the joined batch, at the speed of the slowest worker.
func Sync() Strategy { return Strategy{Mode: ModeSync} }

// HalfAsync is [Async], except that the training threads of each worker make their steps together.
func HalfAsync() Strategy { return Strategy{Mode: ModeHalfAsync} }

// SSP is [Async] in which no worker is more than staleness steps ahead of the slowest.
func SSP(staleness int) Strategy { return Strategy{Mode: ModeSSP, Staleness: staleness} }

// Geo trains copies of the model on the workers, which exchange their changes every k steps and at the end of an epoch.
// The rule must be plain gradient descent.
//
// Servers add up the workers' changes, so k steps of N workers move the model as far as N·k steps of one. If layers are
// dense and epochs short, choose k well below the steps of an epoch: on the digits of examples/mnist, with 62 steps per
// epoch on each of 2 workers, ten epochs reach an accuracy of 0.93 with k = 1 and k = 10, and of 0.90 with one exchange
// per epoch; one process reaches 0.94.
func Geo(k int) Strategy { return Strategy{Mode: ModeGeo, KSteps: k} }

// Async trains without rounds: a server applies each gradient on arrival and answers with the newest parameters. No
// worker waits for another. A gradient does not reflect the updates that others made since its parameters were pulled.
//
// By default a step sees all updates of its own worker, and its gradient misses N−1 updates with N equally fast
// workers. Servers predict what momentum does to the weights meanwhile (NoForesight turns that off), so that the same
// number of examples trains a model about as well as in one process: on the flights of examples/wide_and_deep within
// 0.001 of its test AUC, with 2 and 4 workers and batches of 128 and 512, by the table in BENCHMARKS.md.
//
// Each worker needs steps, since a gradient acts on later ones alone: about 12 for each worker that there is, and 48.
// On 200,000 clicks one process reached an AUC of 0.716; 8 workers 0.713 in batches of 256 (97 steps each), also when
// one took twenty times as long as the others, and 0.697 in batches of 512; 16 workers 0.714 in batches of 64 and 0.54
// in batches of 512. Package fleet/train chooses such a batch where a program names none, and warns where it is larger.
//
// Further options trade staleness for speed:
//
//   - LookAhead prefetches the next batch's rows and dense parameters when a batch begins, so that no step waits for
//     the network. A gradient then misses the last update of its own worker and about two of each other worker, 2N−1 in
//     all. It pays off if the network is slow compared with computing a batch, and if batches are small or workers few:
//     with batches of 512 the flights lost 0.002 of AUC.
//   - SendQueueSize and ThreadPoolSize above 1 let that many gradients be queued, and be in flight, while the next
//     steps are computed; each of these steps misses the queued updates.
//   - MaxMergeVarNum merges the gradients of up to that many steps into one push and one update. Under plain SGD their
//     sum equals separate updates; under other rules a push of n steps is one step on a batch n times as large, and an
//     epoch has an n-th of the updates.
//   - MinSendGradNumBeforeRecv and IndependentRecvThread pull dense parameters less often; steps in between use old
//     ones.
//   - PushSamples, of itself in small batches of a large model under plain SGD, pushes several steps together, whose
//     updates the worker has at once and others later.
//
// stats.Counts has the measured staleness.
func Async() Strategy { return Strategy{Mode: ModeAsync} }

// Named returns the preset with a name as in the flag -mode: "sync", "async", "half_async", "ssp" or "geo".
func Named(name string) (Strategy, error) {
	if slices.Contains(Modes(), Mode(name)) {
		return Strategy{Mode: Mode(name)}, nil
	}
	return Strategy{}, fmt.Errorf("strategy: unknown preset %q; want %s", name, list(Modes()))
}

// WithDefaults fills in the default of every zero field that has one in this mode. The result has the same meaning.
func (s Strategy) WithDefaults() Strategy {
	if s.WithoutServers() != "" {
		set(&s.Mode, ModeSync)
	}
	set(&s.Mode, ModeAsync)
	set(&s.Placement, placement.RoundRobin{}.Name())
	set(&s.Codec, "none")
	set(&s.Payload, PayloadFloat32)
	set(&s.MaxFrame, 64<<20)
	set(&s.NotFinite, NotFiniteRefuse)
	set(&s.HeartbeatInterval, Duration(time.Second))
	set(&s.WorkerTimeout, Duration(30*time.Second))
	set(&s.StartTimeout, Duration(3*time.Minute))
	set(&s.WaitTimeout, Duration(15*time.Minute))
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

// Queues says whether gradients are queued, merged or late by an option that PushSamples leaves no room for.
func (s Strategy) Queues() bool {
	return s.MaxMergeVarNum > 1 || s.SendQueueSize > 1 || s.ThreadPoolSize > 1 || s.MinSendGradNumBeforeRecv > 1 ||
		s.IndependentRecvThread || s.LookAhead || s.DelayCompensation > 0
}

// Sums says whether gradients of a param that travel together are summed rather than averaged, given whether its rule
// is additive.
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
