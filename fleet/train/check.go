package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train/internal/check"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// A Report is the result of [Check]: the job's rows, feeds, params, some steps, and Findings to look at; Fails says
// whether any of them would end training. Print it to see tables.
type Report = check.Report

// A Finding is one problem, with its remedy.
type Finding = check.Finding

// Check examines a job before it trains, as the flag -check of every program does. It reads the rows as the job does
// and reports the contents of each feed, and the first 100,000 lines of the job's Files once more, for what they have
// before Missing fills it; it makes twenty steps on separate tables, in this process, and reports which params had a
// gradient; and it lists likely mistakes, such as numbers that are not scaled, a feed that gives away the label, a
// table that is too small for its ids, or a learning rate with which the loss rises. It contacts no server and writes
// no file. The job's graph can't be used for training afterwards: make the job again.
//
// Check returns an error if the job would be refused at the start; problems that would end it later are Findings that
// Fail.
func Check(ctx context.Context, j Job) (*Report, error) {
	s, err := j.check()
	if err != nil {
		return nil, err
	}
	f, err := j.accepted(ctx, s)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	days := j.Days != nil
	if days {
		if err := j.firstDay(ctx); err != nil {
			return nil, err
		}
	}
	train, test, err := j.Data(ctx)
	if err != nil {
		return nil, err
	}
	if train == nil {
		return nil, errNoRows
	}
	rows, known := train.Len()
	if !known || days { // how many will come is not known
		rows = -1
	}
	j.fit(j.fitting(rows, 1), test != nil)
	of, err := j.looked(s, train, test, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	report, err := check.Look(ctx, of)
	if err == nil {
		traffic(report, f)
		room(report, f, s.MaxMemory)
	}
	return report, err
}

// looked is the job as package check takes it, with the texts of its files if these have at most so many bytes.
func (j *Job) looked(s strategy.Strategy, train, test *dataset.Dataset, most int64) (check.Job, error) {
	first, err := (&shares{job: j, train: train}).of(0)
	of := check.Job{Loss: j.Loss, Outputs: j.Outputs, Rule: j.Rule, Train: train, Test: test,
		First: first, Batch: j.Batch, Tolerates: s.WithDefaults().NotFinite != strategy.NotFiniteRefuse,
		Places: places(j.Files.Format), Scales: map[string][]dataset.Scaling{}}
	for _, c := range lined(j.Files.Format).Schema {
		of.Scales[c.Name] = c.Scale
	}
	if f := j.Files; j.files && err == nil {
		of.Random = test != nil && len(f.Test) == 0 && !f.Last && f.LastBy+f.GroupBy == ""
		of.Fields, of.Texts, err = j.texts(most)
	}
	return of, err
}

// places are the fields of the values in a row, by column, for a format that reads fields.
func places(f dataset.Format) map[string][]string {
	all := map[string][]string{}
	for _, c := range lined(f).Schema {
		fields := fieldsOf(c)
		for i := range c.Width() {
			all[c.Name] = append(all[c.Name], fields[i*len(fields)/c.Width()])
		}
	}
	return all
}

// traffic adds the bytes that a step exchanges with servers, in a job with servers.
func traffic(r *Report, f *fleet.Fleet) {
	ids := map[string]int{}
	for _, p := range r.Params {
		if p.Table {
			ids[p.Name] = p.Touched
		}
	}
	if e, err := f.Explain(ids); err == nil && len(r.Losses) > 0 {
		for _, s := range e.Servers {
			r.Pushed += s.Pushed
			r.Pulled += s.Pulled
		}
	}
}

// room adds how many bytes a row of each table takes on a server, and how many fit.
func room(r *Report, f *fleet.Fleet, memory float64) {
	plan, err := f.Plan()
	if err != nil {
		return
	}
	for _, v := range plan.Variables {
		if v.RowBytes == 0 { // it is dense
			continue
		}
		fit := grouped(1<<30/v.RowBytes) + " rows in a GiB"
		if v.MostRows > 0 {
			fit = grouped(int(v.MostRows)) + " rows in its MaxBytes"
		} else if memory > 0 {
			fit += fmt.Sprintf(" of its part of max_memory, %v of the server's memory", memory)
		}
		r.Room = append(r.Room, fmt.Sprintf("table %q: %d bytes a row on a server, %s", v.Name, v.RowBytes, fit))
	}
}

// accepted returns a fleet that accepts this strategy, rule and model: with a server, a collective one, or one alone.
// The error is that of the first.
func (j *Job) accepted(ctx context.Context, s strategy.Strategy) (*fleet.Fleet, error) {
	at := []string{"worker:1", "worker:2", "server:1"}
	var refused error
	for _, rm := range []rolemaker.RoleMaker{
		rolemaker.UserDefined{WorkerNum: 2, ServerEndpoints: at[2:], WorkerEndpoints: at[:2]},
		rolemaker.UserDefinedCollective{WorkerEndpoints: at[:2]},
		rolemaker.Local{},
	} {
		f, err := fleet.New(ctx, rm, fleet.Options{Transport: transport.NewMemory(),
			Placements: j.Options.Fleet.Placements})
		if err != nil {
			return nil, err
		}
		opt, err := f.DistributedOptimizer(j.Rule, s)
		if err == nil {
			err = opt.Minimize(j.Loss)
		}
		if err == nil {
			return f, nil
		}
		f.Close()
		refused = cmp.Or(refused, err)
	}
	return nil, refused
}

// errChecked is the error of a program with -check whose training would fail.
var errChecked = errors.New("-check: training would fail, for the reasons above")

// checked is a program with -check.
func checked(ctx context.Context, _ *Options, job func() (Job, error)) error {
	j, err := job()
	if err != nil {
		return err
	}
	r, err := Check(ctx, j)
	if err != nil {
		return err
	}
	fmt.Fprint(j.output(), r)
	if r.Fails() {
		return errChecked
	}
	return nil
}
