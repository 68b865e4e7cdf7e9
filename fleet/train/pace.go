package train

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// Pace describes the speed of training up to an evaluation, as returned by [Run.Pace]. It differs between runs of a job
// even if their evaluations are equal. Unknown values are 0.
type Pace struct {
	// Seconds is the training time since the job began, of the slowest worker, without evaluations and times when the
	// job did not run.
	Seconds float64
	// Rate is the number of examples per second of all workers together since the previous evaluation.
	Rate float64
	// LR is the learning rate of the last step, including later changes to the rule's. For a rule with a Schedule it is
	// known only if steps and updates coincide: in mode sync and without servers, with one thread and without gradient
	// merge.
	LR float64
	// GradientNorm is the Euclidean norm of all gradients of a worker's batch, before clipping: the mean over all
	// workers of one step in 16, including the first after each evaluation.
	GradientNorm float64
}

// Pace returns the Pace of an evaluation in which this process took part, or which it has read back from history.csv.
func (r *Run) Pace(e Evaluation) Pace { return r.paces.of(e) }

// moment identifies an evaluation in the job.
type moment struct{ epoch, examples int }

// paces are paces by evaluation.
type paces map[moment]Pace

func (ps paces) of(e Evaluation) Pace { return ps[momentOf(e)] }

func momentOf(e Evaluation) moment { return moment{e.Epoch, e.Examples} }

// meter measures this worker's training between two evaluations.
type meter struct {
	began    time.Time // start of training; zero while it does not train
	spent    time.Duration
	seen     int  // examples of the epoch so far
	examples int  // since the last evaluation
	counts   bool // a worker's steps count updates

	mu      sync.Mutex // guards the fields below: threads train concurrently
	steps   int        // since the last evaluation
	updates int64      // the number of the last step
	norms   float64    // their sum
	looked  int
	looks   []look
}

// look is called with the gradients of one step in lookEvery, including the first after an evaluation.
type look func(params []*optimizer.Param, s *optimizer.Step)

// lookEvery is the number of steps for each step whose gradients are measured: measuring then costs less than a
// hundredth of computing them.
const lookEvery = 16

// start begins an epoch, or continues it.
func (m *meter) start() { m.began = time.Now() }

// stop ends the training time; it may be called twice.
func (m *meter) stop() {
	if !m.began.IsZero() {
		m.spent, m.began = m.spent+time.Since(m.began), time.Time{}
	}
}

// count sets the number of examples of the epoch.
func (m *meter) count(samples int) { m.examples, m.seen = m.examples+samples-m.seen, samples }

// see measures each step's gradients.
func (m *meter) see(params []*optimizer.Param, s *optimizer.Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updates = int64(s.Number)
	if m.steps++; (m.steps-1)%lookEvery != 0 {
		return
	}
	squares := 0.0
	for _, p := range params {
		if !p.Frozen {
			squares += sumOfSquares(p.G)
		}
	}
	for _, rows := range s.Rows {
		squares += sumOfSquares(rows.G)
	}
	if finite(squares) {
		m.norms, m.looked = m.norms+math.Sqrt(squares), m.looked+1
	}
	for _, l := range m.looks {
		l(params, s)
	}
}

func sumOfSquares(x []float32) (sum float64) {
	for part := range slices.Chunk(x, 1024) {
		sum += float64(kernels.Dot(part, part))
	}
	return sum
}

// measured is a worker's report of its pace to the others.
type measured struct {
	Seconds  float64
	Examples int
	Norms    float64 // the sum of Looked norms
	Looked   int
	LR       float64 // of the leading worker
}

// drain returns the measurements since the last call.
func (m *meter) drain() *measured {
	m.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := &measured{Seconds: m.spent.Seconds(), Examples: m.examples, Norms: m.norms, Looked: m.looked}
	m.spent, m.examples, m.steps, m.norms, m.looked = 0, 0, 0, 0, 0
	return taken
}

// rate is a rule's learning rate in the last step, with the job's factor; no thread trains meanwhile.
func (m *meter) rate(rule optimizer.Rule, factor float64) float64 {
	updates := int64(0)
	if m.counts {
		updates = m.updates
	}
	return factor * rules.Rate(rule, updates)
}

// ofAll is a line with the rate of all workers, if there are several. The evaluation's own line does not change, since
// scripts parse its end.
func (p Pace) ofAll(label string, workers int) string {
	if workers == 1 || p.Rate == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s examples/s of %d workers\n", label, grouped(int(p.Rate)), workers)
}

// add computes the pace of all workers up to an evaluation, since the one before.
func (ps paces) add(e Evaluation, before Pace, shares []share) {
	var all measured
	for _, s := range shares {
		if p := s.Pace; p != nil {
			all.Seconds, all.Examples = max(all.Seconds, p.Seconds), all.Examples+p.Examples
			all.Norms, all.Looked, all.LR = all.Norms+p.Norms, all.Looked+p.Looked, cmp.Or(all.LR, p.LR)
		}
	}
	p := Pace{Seconds: before.Seconds + all.Seconds, LR: all.LR}
	if all.Seconds > 0 {
		p.Rate = float64(all.Examples) / all.Seconds
	}
	if all.Looked > 0 {
		p.GradientNorm = all.Norms / float64(all.Looked)
	}
	ps[momentOf(e)] = p
}

// recall restores the paces of a history's evaluations from the files that hooks have written.
func (ps paces) recall(history []Evaluation, written hooks) {
	known := map[moment]Evaluation{}
	for _, e := range history {
		known[momentOf(e)] = e
	}
	for _, h := range written {
		rows, paces, _ := readHistory(h.file) // there may be none
		for i, e := range rows {
			if k, is := known[momentOf(e)]; is && maps.Equal(k.Values, e.Values) && ps.of(e) == (Pace{}) {
				ps[momentOf(e)] = paces[i]
			}
		}
	}
}
