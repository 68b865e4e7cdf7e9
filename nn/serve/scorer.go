package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/overlay"
	"github.com/gofleet/gofleet/nn"
	"gorgonia.org/tensor"
)

// Scorer computes the outputs of a saved model, for any number of goroutines at once:
//
//	s, err := serve.OpenScorer("output/model", serve.ScorerOptions{})
//	scores, err := s.ScoreLines(ctx, []byte("1,AA,JFK\n2,UA,EWR"))
//	clicks := scores.Values[0] // of two rows
//
// Each call works in its own memory, which later calls reuse, so that a service allocates little more than its answers;
// for calls with very many rows at most 256 MB is kept, or the memory of the last. Results equal those of an
// [nn.Executor] for the same batch bit for bit. From the first call with several rows on, the weights of layers are
// also kept in a second, packed copy: changing them directly afterwards has no effect.
//
// Deltas are first kept as layers over the tables and merged into them in the background, by a goroutine that ends when
// it is done, or with Close.
//
// An id without a row in the model, such as one that first occurred after training, reads as zeros if the embedding's
// Height is 0, and otherwise as its initial row; [Scores].Odd names those in fields of lines.
type Scorer struct {
	dir     string // empty for a model that the user loaded
	options ScorerOptions
	now     atomic.Pointer[scoring]
	loading sync.Mutex // held by Reload
	gate    gate
	folder  folder
}

// Scores are the results of a call. They belong to the caller.
type Scores struct {
	// Version is the Model.Version that computed all of the scores.
	Version string
	// Values has a slice for each output, with its values for every row, one after the other.
	Values [][]float32
	// Odd are values of rows that were scored as lines or as fields of lines, of which training has told little: the
	// first hundred.
	Odd []Odd
}

// ScorerOptions are the options of a [Scorer].
type ScorerOptions struct {
	// Outputs are the names of the outputs to compute, in the order of the results. nil means all outputs of the saved
	// model.
	Outputs []string
	// Format is the format of lines for ScoreLines; nil means the one that the model was saved with
	// (nn.InferenceModel.WithFormat).
	Format dataset.Format
	// Deltas is a directory whose subdirectories, of any names, are deltas of the model, as saved by a fleet's
	// SaveModel. OpenScorer and Reload apply all that follow the scorer's model, and ignore deltas of another base. The
	// directory need not exist before the first delta. Empty means no deltas.
	Deltas string
	// Join is the largest number of rows from different calls that are computed together. With Join, a quarter of the
	// processors compute, and whenever one is free, the calls that are waiting are joined into one batch; no call waits
	// for others to arrive. This serves more calls per second if there are many and the model's layers are large, but
	// each call takes longer. A row's scores are the same as alone, except for the last digits if a layer has more than
	// 512 inputs. By default each call is computed alone, at once.
	Join int
	// MaxRows bounds the rows of all calls that are computed at a time, and so the memory of their layers; in Score,
	// ids of slots count as rows. Further calls wait until their contexts end, calls with few rows the shortest. A
	// single call with more rows than MaxRows waits until no other large call is computed. 0 means no bound.
	MaxRows int
}

// OpenScorer loads the model in a directory, as [Load] does, with the deltas in ScorerOptions.Deltas that follow it. Of
// a directory in which a job publishes (train.Publish), OpenScorer and Reload take the current base and its deltas.
func OpenScorer(dir string, o ScorerOptions) (*Scorer, error) {
	m, err := (*Model)(nil), error(nil)
	for range 2 { // a base may be removed that was just current
		if m, err = open(dir, o.Deltas); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, ErrForked) {
		slog.Warn("serve: OpenScorer: deltas after the fork are ignored, until there is another base", "error", err)
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

func open(dir, deltas string) (*Model, error) {
	base, deltas, err := published(dir, deltas)
	if err != nil {
		return nil, err
	}
	m, err := Load(base)
	if err != nil {
		return nil, err
	}
	return m.withDeltasIn(deltas)
}

// NewScorer makes a scorer for a loaded model, including the deltas that it was loaded with. If the model is trained
// further afterwards, this scorer still scores the old weights; nodes must be added to its graph before calls begin.
func NewScorer(m *Model, o ScorerOptions) (*Scorer, error) {
	if o.Deltas != "" {
		return nil, errors.New("serve: NewScorer: ScorerOptions.Deltas is for OpenScorer, which reads the model " +
			"itself: give Load the deltas")
	}
	return newScorer(m, o)
}

func newScorer(m *Model, o ScorerOptions) (*Scorer, error) {
	if o.MaxRows < 0 {
		return nil, fmt.Errorf("serve: ScorerOptions.MaxRows is %d; want a number of rows, or 0 for unbounded",
			o.MaxRows)
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

// Reload loads the model that is now in the directory, if it differs from the scorer's, and the deltas saved since, and
// says whether anything changed. No call waits: calls in progress finish with the model that they began with, and both
// models are in memory until then. After an error, for example because files are still being copied to the directory,
// the old model stays, and a later Reload may succeed. The new model must have the same outputs. Deltas that do not
// follow each other are [ErrForked]: the deltas before the fork are applied, as changed says, and no others until there
// is a new base.
//
// A directory without model.json is never reloaded, since a change can't be detected.
func (s *Scorer) Reload() (changed bool, err error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	old := s.now.Load()
	if s.dir == "" {
		return false, errors.New("serve: Reload: the scorer has no directory: make it with OpenScorer")
	}
	m, err := old.model.newest(s.dir, s.options.Deltas)
	if forked := errors.Is(err, ErrForked); (err == nil || forked) && m != old.model {
		took := s.takeUp(m)
		changed, err = took == nil, errors.Join(took, err)
	}
	if err != nil {
		return changed, fmt.Errorf("serve: Reload from %s: %w", s.dir, err)
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
	if was, is := s.Outputs(), valuesOf(next.outputs); !slices.EqualFunc(was, is, nn.Value.Same) {
		return fmt.Errorf("serve: the model computes %v, the one that is served %v: open another scorer for it", is,
			was)
	}
	s.now.Store(next)
	s.folder.begin(s.fold)
	return nil
}

// fold does a piece of folding in the model that new calls use, and reports whether there was any.
func (s *Scorer) fold() bool { return s.now.Load().model.fold(overlay.Few) }

// Close ends the background work and waits for it. Calls may go on.
func (s *Scorer) Close() { s.folder.close() }

// Version returns the [Model.Version] that new calls use.
func (s *Scorer) Version() string { return s.now.Load().model.version }

// Feeds describes the inputs of Score and ScoreJSON.
func (s *Scorer) Feeds() []nn.Value { return valuesOf(s.now.Load().feeds) }

// Outputs describes the results, in order.
func (s *Scorer) Outputs() []nn.Value { return valuesOf(s.now.Load().outputs) }

// Score computes the outputs for a batch of feeds, in the same form as for [nn.Executor.Eval].
func (s *Scorer) Score(ctx context.Context, feeds map[string]*tensor.Dense) (Scores, error) {
	rows := 0
	for _, t := range feeds {
		if t != nil && t.Dims() > 0 {
			rows = max(rows, t.Shape()[0])
		}
	}
	return s.compute(ctx, rows, func(r *scoring, w *workspace) (Scores, error) { return r.score(ctx, w, feeds) })
}

// ScoreLines is Score for raw lines, which the model's format parses as in training. If files of the format begin with
// a header, so must the text. In CSV and slot text, fields that no feed uses, such as the label, may be missing. A line
// that can't be parsed is a *dataset.LineError.
func (s *Scorer) ScoreLines(ctx context.Context, text []byte) (Scores, error) {
	return s.compute(ctx, 1+bytes.Count(text, newline), func(r *scoring, w *workspace) (Scores, error) {
		if r.formatErr != nil {
			return Scores{}, r.formatErr
		}
		return r.scoreText(ctx, w, &w.lines, r.format, text)
	})
}

// ScoreJSON is Score of rows as JSON: an array of objects, or one object, with a number or a list of numbers for each
// feed. Lists may be nested as the feed's dimensions are. If the first object lacks a feed and has fields of the
// model's [dataset.CSV] or [dataset.JSONLines], rows have these instead, each or null, and are read as in training.
func (s *Scorer) ScoreJSON(ctx context.Context, text []byte) (Scores, error) {
	lines, err := jsonLines(text)
	if err != nil {
		return Scores{}, err
	}
	return s.compute(ctx, 1+bytes.Count(lines, newline), func(r *scoring, w *workspace) (Scores, error) {
		if fields, err := r.fields.recognize(lines); err != nil {
			return Scores{}, err
		} else if fields {
			return r.scoreText(ctx, w, &w.fields, r.fields.format, lines)
		}
		return r.scoreText(ctx, w, &w.json, r.json, lines)
	})
}

var newline = []byte("\n")

// compute computes a call of about rows rows with the newest model, when there is room for it.
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

// scoring is a model that is scored: its outputs, and the memory of calls that have ended.
type scoring struct {
	model     *Model
	frozen    *nn.Frozen
	outputs   []*nn.Node
	feeds     []*nn.Node
	format    dataset.Format
	formatErr error
	json      jsonFormat
	fields    *fieldRows
	watches   []watch

	join *joiner

	mu   sync.Mutex // guards the fields below
	free []*workspace
	kept int // bytes of free
}

// prepare checks the outputs of a model and prepares for them.
func (o ScorerOptions) prepare(m *Model) (*scoring, error) {
	if m == nil {
		return nil, errors.New("serve: NewScorer: the model is nil")
	}
	r := &scoring{model: m, outputs: m.Outputs, format: o.Format}
	if o.Outputs != nil {
		r.outputs = nil
		for _, name := range o.Outputs {
			n := m.Output(name)
			if n == nil {
				return nil, fmt.Errorf("serve: scorer: the model has no output %q, only %q", name, namesOf(m.Outputs))
			}
			r.outputs = append(r.outputs, n)
		}
	}
	if len(r.outputs) == 0 {
		return nil, errors.New("serve: scorer: no output to compute: ScorerOptions.Outputs is empty, or the model's " +
			"Outputs are")
	}
	var err error
	if r.frozen, err = nn.Inference(r.outputs...).Freeze(); err != nil {
		return nil, fmt.Errorf("serve: scorer: %w: name others in ScorerOptions.Outputs", err)
	}
	r.feeds = r.frozen.Feeds()
	r.json = jsonFormatOf(r.feeds)
	if r.join, err = newJoiner(o.Join); err != nil {
		return nil, err
	}
	err = r.takeFormat(o.Format)
	r.fields = fieldRowsOf(r.format, r.feeds)
	r.watches = m.watches(r.fields.lines)
	return r, err
}

// takeFormat sets the format of lines. A model without a format can still be scored from feeds.
func (r *scoring) takeFormat(own dataset.Format) error {
	if own != nil {
		if err := nn.Inference(r.outputs...).Fits(own); err != nil {
			return fmt.Errorf("serve: ScorerOptions.Format: %w", err)
		}
		return nil
	}
	r.format, r.formatErr = r.model.Format()
	return nil
}

func (r *scoring) score(ctx context.Context, w *workspace, feeds map[string]*tensor.Dense) (Scores, error) {
	if err := w.Read(feeds); err != nil {
		return Scores{}, err
	}
	if r.join.do(ctx, &w.call); w.err != nil {
		return Scores{}, w.err
	}
	return Scores{Version: r.model.version, Values: w.scores}, nil
}

// scoreText scores lines in a format, with the workspace's decoder for it.
func (r *scoring) scoreText(ctx context.Context, w *workspace, d **dataset.Decoder, f dataset.Format,
	text []byte) (Scores, error) {
	if *d == nil {
		made, err := dataset.NewDecoder(f, namesOf(r.feeds)...)
		if err != nil {
			return Scores{}, err
		}
		*d = made
	}
	feeds, err := (*d).Decode(text)
	csv, is := f.(dataset.CSV)
	if err != nil && is && csv.Fields == nil && !bytes.Contains(bytes.TrimSpace(text), newline) {
		err = fmt.Errorf("%w; the text is one line: keep the line ends behind the header and each row, as curl's "+
			"--data-binary does and -d does not", err)
	}
	if err != nil {
		return Scores{}, err
	}
	scores, err := r.score(ctx, w, feeds)
	if d != &w.json && err == nil {
		for i := range r.watches {
			scores.Odd = r.watches[i].see(scores.Odd, feeds)
		}
	}
	return scores, err
}

func namesOf(nodes []*nn.Node) (names []string) {
	for _, n := range nodes {
		names = append(names, n.Name())
	}
	return names
}

func valuesOf(nodes []*nn.Node) (all []nn.Value) {
	for _, n := range nodes {
		all = append(all, n.Describe())
	}
	return all
}
