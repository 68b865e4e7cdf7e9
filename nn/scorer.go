package nn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/overlay"
	"gorgonia.org/tensor"
)

// Scorer computes the outputs of a saved model, for any number of goroutines at once:
//
//	s, err := nn.OpenScorer("output/model", nn.ScorerOptions{})
//	scores, err := s.ScoreLines(ctx, []byte("1,AA,JFK\n2,UA,EWR"))
//	clicks := scores.Values[0] // of two rows
//
// Each call works in memory of its own, which is kept for the calls after it, so that a service allocates what it
// answers and little more; of calls with very many rows no more than 256 MB is kept, or the last. What a call computes
// has the bits that an [Executor] computes from the same batch. The weights of layers are kept a second time, as
// products of several rows read them, from the first call with such on: what changes them by hand later is not seen.
//
// Deltas lie over the rows that they leave as they are, and become part of the tables beside calls, on a goroutine that
// ends when there is no more to do, or with Close.
//
// An id of which the model has no row, such as one that came up after training, is scored and not counted: it reads as
// zeros where the embedding's Height is 0, as its initial row where ids are bounded.
type Scorer struct {
	dir     string // empty: of a model that the user loaded
	options ScorerOptions
	now     atomic.Pointer[scoring]
	loading sync.Mutex // held by Reload
	gate    gate
	folder  folder
}

// Scores are what a call has computed; they are the caller's.
type Scores struct {
	// Version is that of the model which computed all of them.
	Version string
	// Values has a slice for each output, with what it is for every row, one after the other.
	Values [][]float32
}

// ScorerOptions choose what a [Scorer] reads and computes.
type ScorerOptions struct {
	// Outputs are names of the outputs to compute, in the order of the results. nil is all that the model was saved
	// for.
	Outputs []string
	// Format is that of the lines of ScoreLines; nil is the one that the model was saved with
	// (InferenceModel.WithFormat).
	Format dataset.Format
	// Deltas is a directory in which each directory has a delta of the model, as a fleet's SaveModel saves them:
	// OpenScorer and Reload take all that follow what the scorer has, whatever their names are. Deltas of another base
	// stay where they are, and the directory need not be there before the first. Empty has none.
	Deltas string
	// Join is the most rows of different calls that are computed together. A quarter of the processors compute then,
	// and what waits when one is done is joined, which serves more calls a second where they are many and the model's
	// layers large, and makes each of them take longer; none waits for others to come. A row's scores have the bits of
	// a batch with other rows in it: the same as alone, but for the last places where a layer has more than 512
	// inputs. By default each call is computed alone, at once.
	Join int
	// MaxRows is the most rows of all calls that are computed at a time, and so the memory of layers that they take;
	// ids of slots count as rows where Score is given them. Other calls wait, calls of few rows the shortest, until
	// their contexts end; one of more rows waits until no other large one computes. 0 is no bound.
	MaxRows int
}

// OpenScorer loads the model in a directory, as [Load] does, with the deltas that are there for it.
func OpenScorer(dir string, o ScorerOptions) (*Scorer, error) {
	m, err := Load(dir)
	if err == nil {
		m, err = m.withDeltasIn(o.Deltas)
	}
	if errors.Is(err, ErrForked) {
		slog.Warn("nn: OpenScorer: what was saved before the fork is served, until there is another base", "error", err)
	} else if err != nil {
		return nil, err
	}
	s, err := newScorer(m, o)
	if err != nil {
		return nil, fmt.Errorf("%w (model in %s)", err, dir)
	}
	s.dir = dir
	return s, nil
}

// NewScorer makes a scorer of a loaded model, which has the deltas that it was loaded with. A model that is trained
// further afterwards is scored as it was, by this scorer; what is built on its graph has to be built before calls
// begin.
func NewScorer(m *Model, o ScorerOptions) (*Scorer, error) {
	if o.Deltas != "" {
		return nil, errors.New("nn: NewScorer: ScorerOptions.Deltas is for OpenScorer, which reads the model itself: " +
			"give Load the deltas")
	}
	return newScorer(m, o)
}

func newScorer(m *Model, o ScorerOptions) (*Scorer, error) {
	if o.MaxRows < 0 {
		return nil, fmt.Errorf("nn: ScorerOptions.MaxRows is %d: it counts rows, 0 is no bound", o.MaxRows)
	}
	s := &Scorer{options: o, gate: gate{most: o.MaxRows}}
	ready, err := o.prepare(m)
	if err != nil {
		return nil, err
	}
	s.now.Store(ready)
	s.folder.begin(s.fold)
	return s, nil
}

// Reload takes up the model that is in the directory now, if it is another than the scorer's, and the deltas that have
// been saved since, and says whether there was any of these. Calls that are under way end with the model that they
// began with, and none waits; both models are in memory until they have. After an error, as of a directory into which
// somebody is copying, the old model stays, and a later call may succeed. Outputs have to stay as they were. Deltas
// that do not follow each other are [ErrForked]: the deltas before are taken up, which changed says, and no other until
// there is another base.
//
// A directory without model.json does not say when it has another model: it is never taken up.
func (s *Scorer) Reload() (changed bool, err error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	old := s.now.Load()
	if s.dir == "" {
		return false, errors.New("nn: Reload: the scorer has no directory: make it with OpenScorer")
	}
	m, err := old.model.newest(s.dir, s.options.Deltas)
	if forked := errors.Is(err, ErrForked); (err == nil || forked) && m != old.model {
		took := s.takeUp(m)
		changed, err = took == nil, errors.Join(took, err)
	}
	if err != nil {
		return changed, fmt.Errorf("nn: Reload from %s: %w", s.dir, err)
	}
	return changed, nil
}

// TakeDelta applies the delta in dir, which a fleet's SaveModel saved, as Reload applies the deltas of
// ScorerOptions.Deltas. It must directly follow the model that is served, the base or the last delta applied: else it
// is [ErrForked]. A base that Reload finds afterwards begins anew, with deltas of its own.
func (s *Scorer) TakeDelta(dir string) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	m, err := s.now.Load().model.WithDelta(dir)
	if err != nil {
		return err
	}
	return s.takeUp(m)
}

// takeUp makes m the model that new calls use.
func (s *Scorer) takeUp(m *Model) error {
	next, err := s.options.prepare(m)
	if err != nil {
		return err
	}
	if was, is := s.Outputs(), valuesOf(next.outputs); !sameValues(was, is) {
		return fmt.Errorf("nn: the model computes %v, the one that is served %v: open another scorer for it", is, was)
	}
	s.now.Store(next)
	s.folder.begin(s.fold)
	return nil
}

// fold does a piece of folding in the model that new calls use, and says whether there was any.
func (s *Scorer) fold() bool { return s.now.Load().model.fold(overlay.Few) }

// Close ends what goes on beside calls, and waits for it. Calls may go on.
func (s *Scorer) Close() { s.folder.close() }

// Version is that of the model that new calls use ([Model.Version]).
func (s *Scorer) Version() string { return s.now.Load().model.version }

// Feeds describes what Score and ScoreJSON have to be given.
func (s *Scorer) Feeds() []Value { return valuesOf(s.now.Load().feeds) }

// Outputs describes the results, in their order.
func (s *Scorer) Outputs() []Value { return valuesOf(s.now.Load().outputs) }

// Score computes the outputs for a batch of feeds, as [Executor.Eval] takes it.
func (s *Scorer) Score(ctx context.Context, feeds map[string]*tensor.Dense) (Scores, error) {
	rows := 0
	for _, t := range feeds {
		if t != nil && t.Dims() > 0 {
			rows = max(rows, t.Shape()[0])
		}
	}
	return s.compute(ctx, rows, func(r *scoring, w *workspace) (Scores, error) { return r.score(ctx, w, feeds) })
}

// ScoreLines is Score of raw lines, of which the format makes the rows that training would make of them. Where files of
// the format begin with a header, so does the text; what only other columns than feeds are made of, such as the label,
// may be lacking in CSV and slot text. A line that can't be understood is a *dataset.LineError.
func (s *Scorer) ScoreLines(ctx context.Context, text []byte) (Scores, error) {
	return s.compute(ctx, 1+bytes.Count(text, newline), func(r *scoring, w *workspace) (Scores, error) {
		if r.formatErr != nil {
			return Scores{}, r.formatErr
		}
		return r.scoreText(ctx, w, &w.lines, r.format, text)
	})
}

// ScoreJSON is Score of rows as JSON: an array of objects, or one object, with a number or a list of numbers for each
// feed. Lists may be nested as the feed's dimensions are.
func (s *Scorer) ScoreJSON(ctx context.Context, text []byte) (Scores, error) {
	lines, err := jsonLines(text)
	if err != nil {
		return Scores{}, err
	}
	return s.compute(ctx, 1+bytes.Count(lines, newline), func(r *scoring, w *workspace) (Scores, error) {
		return r.scoreText(ctx, w, &w.json, r.json, lines)
	})
}

var newline = []byte("\n")

// compute has a call of about so many rows computed by the newest model, when there is room for it.
func (s *Scorer) compute(ctx context.Context, rows int, do func(*scoring, *workspace) (Scores, error)) (Scores, error) {
	leave, err := s.gate.enter(ctx, rows)
	if err != nil {
		return Scores{}, err
	}
	defer leave()
	r := s.now.Load()
	w := r.memory()
	defer r.give(w)
	return do(r, w)
}

// scoring is a model that is scored: what to compute, and the memory of calls that have ended.
type scoring struct {
	model     *Model
	outputs   []*Node
	feeds     []*Node
	format    dataset.Format
	formatErr error
	json      jsonFormat

	join   *joiner
	packed packedWeights
	// asLoaded says that no trainer was bound to the model when it was taken: training it later leaves its scores as
	// they are.
	asLoaded bool

	mu   sync.Mutex // guards what follows
	free []*workspace
	kept int // bytes of these
}

// prepare looks at what is to be computed of a model.
func (o ScorerOptions) prepare(m *Model) (*scoring, error) {
	if m == nil {
		return nil, errors.New("nn: NewScorer: the model is nil")
	}
	r := &scoring{model: m, outputs: m.Outputs, format: o.Format}
	if o.Outputs != nil {
		r.outputs = nil
		for _, name := range o.Outputs {
			n := m.Output(name)
			if n == nil {
				return nil, fmt.Errorf("nn: scorer: the model has no output %q, only %s", name, namesOf(m.Outputs))
			}
			r.outputs = append(r.outputs, n)
		}
	}
	if len(r.outputs) == 0 {
		return nil, errors.New("nn: scorer: there is no output to compute: ScorerOptions.Outputs is empty, or the " +
			"model's Outputs are")
	}
	for _, n := range r.outputs {
		if err := scorable(n); err != nil {
			return nil, err
		}
	}
	r.feeds = feedsOf(behind(m.Graph, r.outputs))
	r.json = jsonFormatOf(r.feeds)
	r.packed = packedWeightsOf(behind(m.Graph, r.outputs))
	r.asLoaded = m.Graph.lend()
	var err error
	if r.join, err = newJoiner(o.Join); err != nil {
		return nil, err
	}
	return r, r.takeFormat(o.Format)
}

// scorable refuses outputs that are not of each example on its own.
func scorable(n *Node) error {
	_, counts := n.op.(metric)
	switch {
	case counts || len(n.shape) == 0 || n.shape[0] != batch:
		return fmt.Errorf("nn: scorer: output %s is of all examples together: name the others in ScorerOptions.Outputs",
			n.placed())
	case isInt(n):
		return fmt.Errorf("nn: scorer: output %s holds int64: save its Cast to float32, or name others in "+
			"ScorerOptions.Outputs",
			n.placed())
	}
	if n := mixing([]*Node{n}); n != nil {
		return fmt.Errorf("nn: scorer: %s is computed from all examples of a batch, so that a row's score would "+
			"depend on the rows beside it: name outputs without it in ScorerOptions.Outputs", n.placed())
	}
	return nil
}

// takeFormat finds the format of lines. A model without is scored by feeds all the same.
func (r *scoring) takeFormat(own dataset.Format) error {
	if own != nil {
		if err := fits(own, r.feeds); err != nil {
			return fmt.Errorf("nn: ScorerOptions.Format: %w", err)
		}
		return nil
	}
	r.format, r.formatErr = r.model.Format()
	return nil
}

func namesOf(nodes []*Node) string {
	var names []string
	for _, n := range nodes {
		names = append(names, fmt.Sprintf("%q", n.name))
	}
	return strings.Join(names, ", ")
}

func (r *scoring) score(ctx context.Context, w *workspace, feeds map[string]*tensor.Dense) (Scores, error) {
	if err := w.read(feeds, r.outputs); err != nil {
		return Scores{}, err
	}
	if r.join.do(ctx, &w.call); w.err != nil {
		return Scores{}, w.err
	}
	return Scores{r.model.version, w.scores}, nil
}

// scoreText scores lines in a format, by the decoder that the workspace has for it.
func (r *scoring) scoreText(ctx context.Context, w *workspace, d **dataset.Decoder, f dataset.Format,
	text []byte) (Scores, error) {
	if *d == nil {
		made, err := dataset.NewDecoder(f, feedNames(r.feeds)...)
		if err != nil {
			return Scores{}, err
		}
		*d = made
	}
	feeds, err := (*d).Decode(text)
	if err != nil {
		return Scores{}, err
	}
	return r.score(ctx, w, feeds)
}

func feedNames(feeds []*Node) (names []string) {
	for _, n := range feeds {
		names = append(names, n.name)
	}
	return names
}
