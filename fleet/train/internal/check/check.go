package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// Job is the job to check. Test may be nil.
type Job struct {
	Loss        *nn.Node
	Outputs     []*nn.Node
	Rule        optimizer.Rule
	Train, Test *dataset.Dataset
	First       *dataset.Dataset // the rows of the first epoch, in their order
	Batch       int
	Most        int  // rows to look at; 0 means a million
	Brief       bool // it is a look before training, which warns of its batch itself
	Tolerates   bool // it skips gradients that are not finite
	// Fields are the fields of the files, whose texts have numbers in Texts.
	Fields []Field
	Texts  *dataset.Dataset
	Random bool // test rows are random ones of the files
	// Places are the fields of the values in a row of each feed, and Scales their scalings, if the format has them.
	Places map[string][]string
	Scales map[string][]dataset.Scaling
}

// scaling is that of a value of a feed.
func (j *Job) scaling(feed string, place int) (s dataset.Scaling) {
	if all := j.Scales[feed]; len(all) > 0 {
		s = all[place%len(all)]
	}
	return s
}

// Finding is a problem that a person should look at before the job trains.
type Finding struct {
	// Fails reports that training would end with an error.
	Fails bool
	// What is the problem, with the feed, param or node.
	What string
	// Do is the remedy.
	Do string
}

// String is the finding in one line.
func (f Finding) String() string { return f.What + ": " + f.Do }

// Report is the result of a check.
type Report struct {
	Rows, TestRows int  // number of rows read, at most a million each
	More           bool // there are more
	Once           bool // they can be read only once, so that no step was tried
	StepsAnEpoch   int  // 0 if the number of rows is not known
	Feeds          []Feed
	Params         []Param
	Losses         []float64 // of the steps that were tried
	Findings       []Finding
	// Pushed and Pulled are the bytes of a worker's step with servers, before compression; 0 if not known.
	Pushed, Pulled float64
	// Room says of each table how many bytes a row takes, and how many rows fit.
	Room []string

	rows, tested readings // contents of the feeds
	texts        []*texts // of the files
	graph        graph
	labels       [][2]float64 // the least and the largest of each step
	before, then Spread       // of predictions before the first step and after the last
}

// Fails reports whether training would end with an error.
func (r *Report) Fails() bool {
	for _, f := range r.Findings {
		if f.Fails {
			return true
		}
	}
	return false
}

func (r *Report) find(what, do string) { r.Findings = append(r.Findings, Finding{What: what, Do: do}) }

// fails adds an error with which training would end.
func (r *Report) fails(what string, err error) {
	r.Findings = append(r.Findings, Finding{true, what, err.Error()})
}

// Look checks a job, whose graph can't be used for training afterwards. An error is the context's; every other failure
// is a finding.
func Look(ctx context.Context, j Job) (*Report, error) {
	r := &Report{graph: readGraph(j)}
	if err := r.read(ctx, j); err != nil {
		r.fails("the rows can't be read", err)
		return r, context.Cause(ctx)
	}
	if err := r.try(ctx, j); errors.Is(err, dataset.ErrOnePass) {
		r.Once = true
	} else if err != nil {
		r.fails(fmt.Sprintf("step %d fails", len(r.Losses)+1), err)
	}
	r.conclude(j)
	r.unscale(j)
	return r, context.Cause(ctx)
}

// atMost bounds the rows that are read.
const atMost = 1_000_000

// read reads rows and test rows.
func (r *Report) read(ctx context.Context, j Job) (err error) {
	if r.rows, err = readFeeds(ctx, j.some(j.Train), r.graph, nil); err != nil {
		return err
	}
	if r.Rows = r.rows.count; r.Rows == 0 {
		return errors.New("none to train on")
	}
	if n, known := j.Train.Len(); known {
		r.StepsAnEpoch, r.More = (n+j.Batch-1)/j.Batch, n > j.most()
	}
	if j.Test != nil {
		if r.tested, err = readFeeds(ctx, j.some(j.Test), r.graph, r.rows.feeds); err != nil {
			return err
		}
		r.TestRows = r.tested.count
	}
	r.Feeds = describe(r.rows, r.tested, r.graph)
	return r.readTexts(ctx, j)
}

func (j *Job) most() int { return cmp.Or(j.Most, atMost) }

// some are the rows, or as many as are looked at, from all over the dataset if it is in memory.
func (j *Job) some(rows *dataset.Dataset) *dataset.Dataset {
	if n, known := rows.Len(); known && n > j.most() {
		rows = rows.Shuffle(0)
	}
	return rows.Take(j.most()).MayBeEmpty()
}
