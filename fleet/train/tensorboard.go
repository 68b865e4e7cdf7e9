package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofleet/gofleet/fleet/train/internal/board"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TensorBoard writes files for TensorBoard, as two runs that it draws in one picture: Dir/train, with the loss of
// steps, the [Pace], histograms, the graph and the embeddings, and Dir/test, with the loss and the metrics on the test
// rows. (tensorboard --logdir with the parent of Dir compares several jobs.) Steps are counted in examples that all
// workers have trained on, as in history.csv and curves.svg, so that jobs with different batches and numbers of workers
// can be compared.
//
// The leading worker writes. A restarted job continues the same curves; points after its checkpoint are no longer
// shown. A new job starts new curves.
type TensorBoard struct {
	// Dir is the job's directory for TensorBoard.
	Dir string
	// Every is the number of a worker's steps whose mean training loss is one point; 0 means 10.
	Every int
	// Rows is how many rows of each embedding the projector gets, the first ones of [fleet.Fleet.Rows]; 0 means 1,000,
	// and a negative number none. They are written when the job has ended.
	Rows int
	// Label returns the label of an id in the projector; nil shows ids.
	Label func(embedding string, id uint64) string
}

// Hooks returns the hooks for Job.Hooks.
func (t TensorBoard) Hooks() Hooks {
	b := &boards{TensorBoard: t, seen: map[string][2]board.Histogram{}}
	b.loss.Every = t.Every
	if t.Every == 0 {
		b.loss.Every = 10
	}
	return Hooks{
		Begin: b.open,
		Step: func(ctx context.Context, r *Run, so nn.TrainResult) error {
			if b.away {
				return nil
			}
			return b.spare(b.step(ctx, r, so))
		},
		Evaluated: func(ctx context.Context, r *Run, e Evaluation) error {
			b.away = false
			return b.spare(b.evaluated(ctx, r, e))
		},
		End: func(ctx context.Context, r *Run) error { return b.spare(b.end(ctx, r)) },
	}
}

// spare returns an error unless it is of a file: without those the job goes on.
func (b *boards) spare(err error) error {
	var file *fs.PathError
	var link *os.LinkError
	if !errors.As(err, &file) && !errors.As(err, &link) {
		return err
	}
	slog.Warn("train: TensorBoard's files could not be written, and the job goes on: others are begun at the next "+
		"evaluation", "dir", b.Dir, "error", err)
	_ = b.close()
	b.away = true
	return nil
}

// boards are the two runs of a job, which are open while this worker leads.
type boards struct {
	TensorBoard
	train, test *board.Writer
	away        bool       // a file could not be written since the last evaluation
	params      []*nn.Node // params with histograms
	loss        curve
	seen        map[string][2]board.Histogram // weights and gradients of the last step that was measured, by param
	from        int64                         // where this process began
}

func (b *boards) open(_ context.Context, r *Run) error {
	err := b.close() // of an earlier run, which went back
	b.params, b.from, b.loss = nil, 0, curve{Every: b.loss.Every}
	clear(b.seen)
	if err != nil {
		return err
	}
	if b.Dir == "" || b.Every < 0 {
		return fmt.Errorf("train: TensorBoard with Dir %q and Every %d: it needs a directory, and steps count from 1",
			b.Dir, b.Every)
	}
	if err := files.CheckLocal(b.Dir); err != nil {
		return fmt.Errorf("train: TensorBoard: %w", err)
	}
	for _, p := range r.Job.Loss.Params() {
		if !p.Embedding {
			b.params = append(b.params, r.Job.Loss.Graph().Node(p.Name))
		}
	}
	r.meter.looks = append(r.meter.looks, b.look)
	if at := r.past.before + r.Fleet.Position().In(r.Epoch)*r.Fleet.WorkerNum(); at > 0 {
		b.from = int64(at) + 1
	}
	_, err = b.leads(r)
	return err
}

// leads reports whether this worker writes, and opens or closes the runs: a file that another worker has begun
// meanwhile is read after this one's.
func (b *boards) leads(r *Run) (bool, error) {
	if !r.Leads() {
		return false, b.close()
	}
	if b.train != nil {
		return true, nil
	}
	if n := len(r.History); n > 0 { // a worker that was away begins after what others have written meanwhile
		b.from = max(b.from, int64(r.History[n-1].Examples)+1)
	}
	_, none := os.Stat(filepath.Join(b.Dir, "test"))
	anew := none == nil && b.from == 0 // what an earlier job drew is removed, even without test rows here
	for _, run := range []struct {
		to   **board.Writer
		name string
		has  bool
	}{{&b.train, "train", true}, {&b.test, "test", r.tests.rows != nil || anew}} {
		if !run.has {
			continue
		}
		w, err := board.NewWriter(filepath.Join(b.Dir, run.name), b.from)
		if err != nil {
			return false, fmt.Errorf("train: TensorBoard: %w", err)
		}
		*run.to = w
	}
	return true, b.train.Graph(append(append([]*nn.Node{r.Job.Loss}, r.Job.Metrics...), r.Job.Outputs...)...)
}

func (b *boards) close() (err error) {
	for _, w := range []**board.Writer{&b.train, &b.test} {
		if *w != nil && err == nil {
			err = (*w).Close()
		}
		*w = nil
	}
	return err
}

// look keeps histograms of a step; of an embedding, those of the rows that it used.
func (b *boards) look(params []*optimizer.Param, s *optimizer.Step) {
	for _, p := range params {
		if len(p.G) > 0 && !p.Frozen {
			b.seen[p.Name] = [2]board.Histogram{{}, board.HistogramOf(p.G)}
		}
	}
	for _, rows := range s.Rows {
		b.seen[rows.Param.Name] = [2]board.Histogram{board.HistogramOf(rows.W), board.HistogramOf(rows.G)}
	}
}

func (b *boards) step(_ context.Context, r *Run, so nn.TrainResult) error {
	if r.course.alone { // others have written this epoch's points
		return nil
	}
	if so.Steps == 1 { // of an epoch, whose results begin anew
		b.loss.restart()
	}
	at := r.examples(so)
	b.loss.step(so, at)
	if len(b.loss.Points) == 0 {
		return nil
	}
	mean := float64(b.loss.Points[0][1])
	b.loss.Points = b.loss.Points[:0]
	return b.write(r, at, mean)
}

// write writes a point of the training loss.
func (b *boards) write(r *Run, at int, mean float64) error {
	leads, err := b.leads(r)
	if err != nil || !leads {
		return err
	}
	var s board.Summary
	s.Scalar("loss", mean)
	return b.train.Write(int64(at), s)
}

func (b *boards) evaluated(ctx context.Context, r *Run, e Evaluation) error {
	if b.loss.Weight > 0 { // the steps of an incomplete point
		if err := b.write(r, e.Examples, b.loss.Loss/b.loss.Weight); err != nil {
			return err
		}
	}
	b.loss.Steps, b.loss.Weight, b.loss.Loss = 0, 0, 0
	b.from = int64(e.Examples) + 1
	leads, err := b.leads(r)
	if err != nil || !leads {
		return err
	}
	var s board.Summary
	p := r.Pace(e)
	for i, v := range p.columns() {
		if *v != 0 {
			s.Scalar("pace/"+plainName(paceColumns[i]), *v)
		}
	}
	s.Scalar("epoch", float64(e.Epoch))
	for _, n := range r.tests.counted() {
		if v, measured := e.Values[trainName(n)]; measured {
			s.Scalar(n.Label(), v)
		}
	}
	if err := b.histograms(ctx, r, &s); err != nil {
		return err
	}
	if err := b.train.Write(int64(e.Examples), s); err != nil || r.tests.rows == nil {
		return err
	}
	var tested board.Summary
	for _, name := range r.tests.names()[1:] {
		if v, measured := e.Values[name]; measured && !strings.HasPrefix(name, "train ") {
			tested.Scalar(strings.TrimPrefix(name, "test "), v)
		}
	}
	return b.test.Write(int64(e.Examples), tested)
}

// histograms writes histograms of the dense weights in the evaluation, and of the gradients and embedding rows of the
// last step that was measured.
func (b *boards) histograms(ctx context.Context, r *Run, s *board.Summary) error {
	if len(b.params) > 0 {
		weights, err := r.tests.exe.Eval(ctx, nil, b.params...)
		if err != nil {
			return err
		}
		for i, p := range b.params {
			s.Histogram("weights/"+p.Name(), board.HistogramOf(weights[i].Float32s()))
		}
		if err := r.tests.exe.Close(ctx); err != nil {
			return err
		}
	}
	r.meter.mu.Lock()
	defer r.meter.mu.Unlock()
	for _, p := range r.Job.Loss.Params() {
		of := b.seen[p.Name]
		s.Histogram("weights/"+p.Name, of[0])
		s.Histogram("gradients/"+p.Name, of[1])
	}
	return nil
}

// end writes the projector's files.
func (b *boards) end(ctx context.Context, r *Run) error {
	leads, err := b.leads(r)
	if err != nil || !leads {
		return err
	}
	var tables []board.Table
	for _, p := range r.Job.Loss.Params() {
		if p.Embedding && p.Dim() > 1 && b.Rows >= 0 {
			t := board.Table{Name: p.Name, Rows: r.Fleet.Rows(ctx, p.Name), Most: b.Rows}
			if t.Most == 0 {
				t.Most = 1000
			}
			if b.Label != nil {
				t.Label = func(id uint64) string { return b.Label(p.Name, id) }
			}
			tables = append(tables, t)
		}
	}
	if len(tables) > 0 {
		if err := board.Project(filepath.Join(b.Dir, "train"), tables); err != nil {
			return fmt.Errorf("train: TensorBoard: %w", err)
		}
	}
	return b.close()
}
