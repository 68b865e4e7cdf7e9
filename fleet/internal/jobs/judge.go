package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// Wrong plays a program and says what is wrong, with the last lines of what its roles have said.
func (p Program) Wrong(t *testing.T, dir string) (wrong []string, said string) {
	s, err := p.Play(t, filepath.Join(dir, "played"))
	if err != nil {
		return []string{err.Error()}, s.log.last(60)
	}
	counts, clock, err := s.counts()
	if err != nil {
		return []string{err.Error()}, s.log.last(60)
	}
	wrong = slices.Concat(p.counts(s, counts), p.periods(s, clock), s.serves(), s.decides())
	if s.crowded != "" {
		wrong = append(wrong, s.crowded)
	}
	if len(wrong) > 0 || !p.exact() {
		return wrong, s.log.last(60)
	}
	calm := p.calm()
	c, err := calm.Play(t, filepath.Join(dir, "calm"))
	if err != nil {
		return []string{"undisturbed: " + err.Error()}, c.log.last(60)
	}
	return s.differs(c), s.log.last(60)
}

// calm is the same job without strikes, with a server where it had none, and none where it had some.
func (p Program) calm() Program {
	l := p.Lives[len(p.Lives)-1]
	switch {
	case p.parts(l) || p.Reloads:
	case l.Servers == 0:
		l.Servers = 1
	default:
		l.Servers = 0
	}
	p.Lives = []Life{l}
	return p
}

// counts are how often each sample counts in what the job has left, and for how many periods the marker was unseen.
func (s *stage) counts() (counts []float64, clock int, err error) {
	ctx := context.Background()
	f, err := fleet.New(ctx, rolemaker.Local{}, fleet.Options{Logger: s.logger("counts")})
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	s.p.Model.More.MaxBytes *= 8 // the room of all servers, of which there are up to 5
	loss, _ := s.p.Model.Loop()
	s.p.Model.More.MaxBytes /= 8
	opt, err := f.DistributedOptimizer(s.p.Rules.Door(), strategy.Sync())
	if err == nil {
		left := filepath.Join(s.dir, "out", "checkpoint")
		err = errors.Join(opt.Minimize(loss), f.Restore(ctx, left, fleet.RestoreOptions{}))
	}
	if err == nil {
		err = f.InitWorker(ctx)
	}
	if err != nil {
		return nil, 0, err
	}
	counts = make([]float64, s.p.Model.Samples)
	marked := func() (is bool, err error) {
		for row, err := range f.Rows(ctx, twin.LedgerName) {
			switch {
			case err != nil:
				return false, err
			case row.ID == marker:
				is = true
			default:
				counts[row.ID] = float64(row.W[0])
			}
		}
		return is, nil
	}
	const far = 100
	for clock = far + 1; ; clock-- { // each period that ends makes what is far near
		is, err := marked()
		if err != nil || !is || clock == 0 {
			return counts, clock, err
		}
		if _, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: far}); err != nil {
			return nil, 0, err
		}
	}
}

// counts says which samples have counted more or less often than there are epochs, and whether the history says so.
func (p Program) counts(s *stage, counts []float64) (wrong []string) {
	n := len(s.left.History)
	if n == 0 {
		return []string{"the history is empty"}
	}
	last, want, sum := s.left.History[n-1], float64(p.Epochs*p.Model.Samples), 0.0
	mayMore, mayLess := p.may()
	for _, c := range counts {
		sum += c
	}
	most := want + mayMore // an epoch that begins anew counts what was trained of it before
	stands := slices.ContainsFunc(p.Lives, Life.pauses)
	if p.counted() && !stands { // who stands still counts what no server takes
		most = min(most, max(sum, want)+mayLess) // what the ledger lacks was trained
	}
	if p.counted() {
		wrong = p.trainedOnce(counts)
	}
	got, ends := float64(last.Examples), last.End && last.Epoch == p.Epochs
	if p.Patience == 0 && (got < want-mayLess || got > most+0.01 || !ends) {
		wrong = append(wrong, fmt.Sprintf("the history ends with %v examples in epoch %d, end %t; want %v to %v", got,
			last.Epoch, last.End, want-mayLess, most))
	}
	return wrong
}

// trainedOnce says which samples the ledger has counted more or less often than there are epochs.
func (p Program) trainedOnce(counts []float64) (wrong []string) {
	mayMore, mayLess := p.may()
	more, less, by := 0.0, 0.0, map[float64]int{}
	for _, c := range counts {
		d := c - float64(p.Epochs)
		more, less = more+max(0, d), less+max(0, -d)
		by[c]++
	}
	if more > mayMore+0.01 || less > mayLess+0.01 {
		wrong = append(wrong, fmt.Sprintf("samples by count: %v, want %d each; %v too often, may be %v; %v "+
			"are missing, may be %v", by, p.Epochs, more, mayMore, less, mayLess))
	}
	return wrong
}

// may is how often samples may count too often, and how often they may be missing.
func (p Program) may() (more, less float64) {
	more = float64(p.anew() * p.Model.Samples)
	for _, l := range p.Lives {
		if p.Strategy.GeoRest == strategy.GeoRestKeep { // all but a share of each
			less = max(less, float64(p.Epochs*p.Model.Samples)*(1-1/float64(l.Workers)))
		}
		for _, s := range l.Strikes {
			on := float64(l.Batch * max(1, l.Threads)) // on the way of a worker
			switch {
			case p.goesOnWithout(l) && (strings.HasPrefix(s.Role, "worker") || s.Kind == "pause"):
				share := (p.Model.Samples + l.Workers - 1) / l.Workers
				less += float64(share * p.epochs(l))
				more += on * float64(l.Workers) // a last gradient may be in the weights of some servers alone
			case p.Strategy.Mode == strategy.ModeGeo: // what was not exchanged
				less += float64(l.Workers*p.Strategy.KSteps) * on
			case !p.inStep(l) && (strings.HasPrefix(s.Role, "worker") || s.Kind == "pause" || s.torn(p)):
				most := max(1, p.Strategy.SendQueueSize+p.Strategy.ThreadPoolSize) * max(1, p.Strategy.MaxMergeVarNum)
				if n := p.Strategy.PushSamples; n > 1 { // each step has one at least, and 20 steps are the most
					most *= min(n, 20)
				}
				if !strings.HasPrefix(s.Role, "worker") { // all workers have some on the way
					most *= l.Workers
				}
				more += 2 * float64(most) * on
			}
		}
	}
	return more, less
}

// torn reports whether servers come back from journals of which some have a push that others lack, and its worker,
// which has died with them, sends it to all again: RECOVERY.md says so of each worker that dies.
func (s Strike) torn(p Program) bool { return p.Journal && s.Role == "all" && s.Kind == "kill" }

// periods says whether each epoch has ended one period, and whether hooks have seen each end and each evaluation.
func (p Program) periods(s *stage, clock int) (wrong []string) {
	ends, epochs := 0, map[int]bool{} // an epoch that begins anew is evaluated again
	for _, e := range s.left.History {
		if e.End {
			ends++
			epochs[e.Epoch] = true
		}
	}
	if p.Period != "" && p.Unseen == 0 && p.Patience == 0 && clock != p.Epochs {
		wrong = append(wrong, fmt.Sprintf("%d periods have ended, want %d", clock, p.Epochs))
	}
	n := s.left.Seen.Ends
	if p.Patience == 0 && p.all(p.goesBack) && p.User == 0 && // which leaves a long history no room
		(s.left.Seen.Evaluations != len(s.left.History) || n < len(epochs) || n > ends) {
		wrong = append(wrong, fmt.Sprintf("the hook has seen %+v; the history has %d evaluations, %d at ends of epochs",
			s.left.Seen, len(s.left.History), ends))
	}
	return wrong
}

// serves says whether what was published last is what the job has left.
func (s *stage) serves() (wrong []string) {
	if !s.p.Publishes || !s.p.all(s.p.goesBack) || s.p.Patience > 0 {
		return nil
	}
	got, err := weightsOf(s.left.Chain...)
	if err != nil {
		return []string{fmt.Sprintf("what was published, %v: %v", s.left.Chain, err)}
	}
	want, err := weightsOf(filepath.Join(s.dir, "out", "model"))
	if err != nil {
		return []string{err.Error()}
	}
	return apart("published", got, want)
}

// decides says whether the rate, the end and the best model are what the evaluations say, by the docs of Plateau,
// EarlyStopping and BestModel.
func (s *stage) decides() (wrong []string) {
	p, h := s.p, s.left.History
	if p.Tests == 0 {
		return nil
	}
	patience := p.Plateau - 2
	if patience == 0 {
		patience = 10
	}
	factor, best, lowest := 1.0, math.Inf(1), math.Inf(1)
	stops, worse, since := 0, 0, 0 // the evaluation that ends the job, from 1
	for i, e := range h {
		v := e.Value(nil)
		if since++; v < best {
			best, since = v, 0
		}
		if p.Patience > 0 && since >= p.Patience && stops == 0 {
			stops = i + 1
		}
		switch worse++; {
		case v < lowest*(1-1e-4):
			lowest, worse = v, 0
		case p.Plateau > 0 && worse > max(patience, 0):
			if worse = 0; p.Rules.All.LR*factor*0.7 >= 1e-8 {
				factor *= 0.3
			}
		}
	}
	if math.Abs(s.left.Factor-factor) > 1e-9 {
		wrong = append(wrong, fmt.Sprintf("the rate's factor is %v, the evaluations say %v", s.left.Factor, factor))
	}
	// a job that is stopped within an epoch evaluates once more, at its end
	if s.left.Stopped != (stops > 0) || stops > 0 && stops < len(h)-1 {
		wrong = append(wrong, fmt.Sprintf("stopped %t behind %d evaluations; they say %d", s.left.Stopped, len(h),
			stops))
	}
	own := p.Sharded || p.Strategy.GeoRest == strategy.GeoRestKeep // test rows, or a copy of the weights
	if own || !p.exact() && !p.all(Life.asked) && !p.all(p.staysUp) {
		return wrong // or of an evaluation that is repeated since the job has gone back
	}
	switch got, err := p.lossOf(filepath.Join(s.dir, "best")); {
	case err != nil:
		wrong = append(wrong, err.Error())
	case math.Abs(got-best) > 1e-4*(1+best):
		wrong = append(wrong, fmt.Sprintf("the best model's loss is %v, the best evaluation %v", got, best))
	}
	return wrong
}

// lossOf is a saved model's on the test rows.
func (p Program) lossOf(dir string) (loss float64, err error) {
	m, err := serve.Load(dir)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for batch, err := range p.Model.Rows(firstTest, p.Tests).Batches(p.Tests) {
		if err != nil {
			return 0, err
		}
		label, weight := slices.Clone(batch["label"].Float32s()), make([]float32, p.Tests)
		for i := range weight {
			if weight[i] = 1; p.Model.More.Weighted {
				weight[i] = batch["weight"].Float32s()[i]
			}
		}
		for name := range batch { // what the loss alone is fed
			if name == "label" || name == "weight" || strings.HasPrefix(name, "shows of ") ||
				strings.HasPrefix(name, "clicks of ") {
				delete(batch, name)
			}
		}
		out, err := nn.NewExecutor(m.Graph).Eval(context.Background(), batch, m.Outputs...)
		if err != nil {
			return 0, err
		}
		for i, y := range out[0].Float32s() {
			loss, sum = loss+float64(weight[i]*(y-label[i])*(y-label[i])), sum+float64(weight[i])
		}
	}
	return loss / sum, nil
}

// weightsOf are all weights of a saved model and its deltas.
func weightsOf(dirs ...string) (map[string][]float32, error) {
	if len(dirs) == 0 {
		return nil, errors.New("no model was published")
	}
	m, err := serve.Load(dirs[0], dirs[1:]...)
	if err != nil {
		return nil, err
	}
	all := map[string][]float32{}
	for _, p := range m.Graph.Params() {
		if !p.Embedding {
			all[p.Name] = p.W
			continue
		}
		err := p.Rows.EachRow(func(ids []uint64, w []float32) error {
			for i, id := range ids {
				all[fmt.Sprintf("%s row %d", p.Name, id)] = slices.Clone(w[i*p.Dim():][:p.Dim()])
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// apart says which weights differ.
func apart(what string, got, want map[string][]float32) (wrong []string) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Equal(got[name], want[name]) {
			wrong = append(wrong, fmt.Sprintf("%s %s is %v, want %v", what, name, got[name], want[name]))
		}
	}
	return wrong[:min(len(wrong), 3)]
}

// differs says what the job has left that the undisturbed one has not.
func (s *stage) differs(calm *stage) (wrong []string) {
	partly := func(name string, _ float64) bool { return strings.HasPrefix(name, "train ") } // of the rest of the epoch
	measured := func(all []train.Evaluation) (out []train.Evaluation) {
		for _, e := range all {
			e.Values = maps.Clone(e.Values)
			maps.DeleteFunc(e.Values, partly)
			out = append(out, e)
		}
		return out
	}
	got, want := measured(s.left.History), measured(calm.left.History)
	if !reflect.DeepEqual(got, want) {
		wrong = append(wrong, fmt.Sprintf("the history is\n%+v, undisturbed\n%+v", got, want))
	}
	for _, name := range []string{"out/model", "best"} {
		if name == "best" && s.p.Tests == 0 {
			continue
		}
		a, err := weightsOf(filepath.Join(s.dir, name))
		b, other := weightsOf(filepath.Join(calm.dir, name))
		if err := errors.Join(err, other); err != nil {
			return append(wrong, err.Error())
		}
		wrong = append(wrong, apart(name, a, b)...)
	}
	return wrong
}
