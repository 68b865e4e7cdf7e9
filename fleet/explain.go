package fleet

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// Explanation is what a strategy costs for a model on this job's servers: the expected traffic of one worker with each
// server in a step, and the measured one. Print it to see a table.
type Explanation struct {
	Strategy strategy.Strategy
	Workers  int
	// IDs is the assumed number of ids that a step touches in each embedding.
	IDs map[string]int
	// Servers is the expected traffic with each server; bytes are counted before compression. Apart is the same for
	// steps that don't know the ids of the next batch; in async, one that begins right after another takes less.
	Servers, Apart []stats.Traffic
	// Counts and Transport are the measured counters of a worker and its transport since the job began; they are zero
	// before training. They include joining, heartbeats, evaluations and saves. If processes share an in-memory
	// transport, as in tests, they cover all of them.
	Counts    stats.Counts
	Transport transport.Stats
}

// Explain estimates what the job's strategy costs for its model: where dense values lie, how many bytes a step sends
// and receives, and in how many round trips. ids is how many ids of each embedding a step touches, by name; embeddings
// without a number are left out. The estimate assumes that steps know the next batch, as in TrainFrom of package nn;
// the table has a line for steps that don't. It is available after Minimize, in jobs with servers.
//
// Before training, unbounded ids are assumed to be 64-bit hashes; smaller ids take fewer bytes. After some steps, the
// bytes that ids actually took are used. Rows are assumed to be spread evenly over servers. In geo, all workers and all
// steps between two exchanges are assumed to touch the same ids. In async each step is assumed to be pushed by itself:
// small batches that PushSamples pushes together take less. In ssp and geo the changes of other workers also arrive;
// how many depends on the workers' relative speed.
func (f *Fleet) Explain(ids map[string]int) (*Explanation, error) {
	j, err := f.minimized("Explain")
	if err != nil {
		return nil, err
	}
	if f.ServerNum() == 0 {
		return nil, fmt.Errorf("fleet: Explain: it describes traffic with servers, and this job has none: %w", ErrRole)
	}
	for name, n := range ids {
		is := func(p *optimizer.Param) bool { return p.Embedding && p.Name == name }
		if !slices.ContainsFunc(j.Params, is) || n < 0 {
			return nil, fmt.Errorf("fleet: Explain: %d ids of %q: want an embedding's name, and 0 or more ids", n, name)
		}
	}
	e := &Explanation{Strategy: j.Strategy, Workers: f.id.Workers, IDs: maps.Clone(ids), Counts: counts(j)}
	var sizes []float64
	if measured, is := j.Backend.(backend.Sized); is {
		sizes = measured.IDSizes()
	}
	for _, t := range exchange.Expect(j.Layout, j.Strategy, f.id.Workers, ids, sizes, true) {
		e.Servers = append(e.Servers, stats.Traffic(t))
	}
	for _, t := range exchange.Expect(j.Layout, j.Strategy, f.id.Workers, ids, sizes, false) {
		e.Apart = append(e.Apart, stats.Traffic(t))
	}
	if m, ok := j.Transport.(transport.Metered); ok {
		e.Transport = m.Stats()
	}
	return e, nil
}

// String returns the explanation as a table.
func (e *Explanation) String() string {
	var s strings.Builder
	e.table(&s)
	return s.String()
}

// table writes the table to a buffer, which does not fail.
func (e *Explanation) table(w io.Writer) {
	fmt.Fprintf(w, "mode %s, %d workers, %d servers, payload %s, codec %s\n",
		e.Strategy.Mode, e.Workers, len(e.Servers), e.Strategy.Payload, e.Strategy.Codec)
	fmt.Fprintf(w, "expected of a worker's step%s, before compression:\n", e.touching())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "server\tdense values\trows\tbytes pushed\tbytes pulled\tround trips\t")
	for i, s := range e.Servers {
		row(t, fmt.Sprint(i), s)
	}
	all, apart := total(e.Servers), total(e.Apart)
	row(t, "all", all)
	t.Flush()
	if apart.Trips != all.Trips {
		fmt.Fprintf(w, "where the ids of the next batch are not known: %.0f bytes pushed, %.0f pulled, "+
			"%.2f round trips\n", apart.Pushed, apart.Pulled, apart.Trips)
	}
	e.measured(w)
}

func (e *Explanation) touching() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(e.IDs)) {
		parts = append(parts, fmt.Sprintf("%d ids of %q", e.IDs[name], name))
	}
	if parts == nil {
		return ""
	}
	return " with " + strings.Join(parts, ", ")
}

func row(w io.Writer, name string, t stats.Traffic) {
	fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.2f\t\n", name, t.Floats, t.Rows, t.Pushed, t.Pulled, t.Trips)
}

func total(servers []stats.Traffic) (all stats.Traffic) {
	for _, s := range servers {
		all.Floats += s.Floats
		all.Rows += s.Rows
		all.Pushed += s.Pushed
		all.Pulled += s.Pulled
		all.Trips += s.Trips
	}
	return all
}

// measured writes the line with the measured traffic of a step, if there was one.
func (e *Explanation) measured(w io.Writer) {
	n, t := float64(e.Counts.Steps)*float64(max(1, e.Strategy.GradientMerge.KSteps)), e.Transport
	if mode.Of(e.Strategy.Mode).Copies {
		n *= float64(e.Strategy.KSteps) // in this mode it counts exchanges
	}
	if n == 0 {
		fmt.Fprintln(w, "measured: no step yet")
		return
	}
	fmt.Fprintf(w, "measured over %.0f steps, as sent, with heartbeats and the like: ", n)
	fmt.Fprintf(w, "%.0f bytes pushed, %.0f pulled, %.2f round trips a step\n",
		float64(t.Sent)/n, float64(t.Received)/n, float64(t.Calls)/n)
	if c := e.Counts; c.Doubled+c.Dropped+c.NotFinite > 0 {
		fmt.Fprintf(w, "%d requests came twice, %d rows were dropped, %d were not finite\n", c.Doubled, c.Dropped,
			c.NotFinite)
	}
}
