package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
)

// conclude adds the findings to the report.
func (r *Report) conclude(j Job) {
	r.textual(j)
	for _, f := range r.Feeds {
		r.values(j, f)
		r.feed(f)
		r.placed(j, f)
	}
	r.apart(j)
	r.serving()
	r.tables(j)
	if len(r.Losses) > 0 && len(r.Params) > 0 {
		r.predictions()
		r.gradients()
		r.rate()
	}
}

// large is a size of numbers with which layers learn slowly, since initial weights are for numbers around 1.
const large = 20

// leaks is the remedy for a feed that gives away the label.
const leaks = "is it known when the model is asked? If it is made from the label, leave it out"

// feed checks one feed.
func (r *Report) feed(f Feed) {
	seen := r.rows.feeds[f.Name]
	layer, raw := r.graph.raw[f.Name]
	size := max(math.Abs(f.Mean), f.Deviation)
	switch {
	case seen.missing > 0:
		r.find(fmt.Sprintf("feed %q has no number in %s of its places (NaN, or infinite)", f.Name,
			percent(seen.lacking())),
			"give its column a Missing value, or leave these rows out: what they teach is not finite")
	case f.Label && seen.constant():
		r.find(fmt.Sprintf("every row has the label %q %v", f.Name, seen.only()),
			"look at the column and the files: a model of one label learns nothing else")
	case f.Label && r.regression() && size > 10*large && r.far(f):
		r.find(fmt.Sprintf("label %q is %.4g ± %.4g, and predictions begin near 0", f.Name, f.Mean, f.Deviation),
			"train on a smaller number, such as its logarithm or thousands of it, and scale predictions back")
	case f.Label:
	case seen.constant() && (r.found(absent.do) || r.found(same.do)):
	case seen.constant():
		r.find(fmt.Sprintf("feed %q is the same in every row", f.Name), "is it the right column? It says nothing")
	case r.classes() && seen.telling() >= 0:
		r.find(fmt.Sprintf("number %d of feed %q says by itself what the label is", seen.telling()+1, f.Name), leaks)
	case r.classes() && seen.tells() > 0.98:
		r.find(fmt.Sprintf("feed %q says by itself what the label is (%s of its variance)", f.Name,
			percent(seen.tells())), leaks)
	case raw && f.Kind == "number" && size > large:
		r.find(fmt.Sprintf("feed %q is %.4g ± %.4g, and reaches %s as it is", f.Name, f.Mean, f.Deviation, layer),
			"Scale or Standardize its column, or begin with nn.BatchNorm")
	case f.Unseen > strange && !f.Many && !r.More && !r.found(own.do): // else the rows that were not read may have them
		r.find(fmt.Sprintf("%s of feed %q in test rows are ids that no row to train on has", percent(f.Unseen), f.Name),
			unseen)
	}
}

// values checks a feed's values: numbers too far from the others, codes, and fields with one value.
func (r *Report) values(j Job, f Feed) {
	seen := r.rows.feeds[f.Name]
	var absurd, codes, alike, elsewhere []string
	for _, e := range seen.edges[:min(2, 2*len(seen.columns))] {
		if seen.columns[e.col].absurd(e.value) {
			absurd = append(absurd, fmt.Sprintf("%s (%.4g)", j.place(f.Name, e.col), e.value))
		}
	}
	for i := range seen.columns {
		c := &seen.columns[i]
		if said := c.code(j.scaling(f.Name, i)); said != "" && absurd == nil {
			codes = append(codes, j.place(f.Name, i)+said)
		}
		tests := r.tested.feeds[f.Name]
		if tests != nil && !f.Label && !c.constant() && tests.columns[i].elsewhere(c) {
			elsewhere = append(elsewhere, j.place(f.Name, i))
		}
		always := c.constant() && (tests == nil || tests.columns[i].constant()) // else it hardly ever varies
		if r.texts == nil && j.Places[f.Name] != nil && always && !seen.constant() && !f.Label {
			alike = append(alike, j.place(f.Name, i))
		}
	}
	r.findIn(far, absurd)
	r.findIn(coded, codes)
	r.findIn(same, alike)
	if absurd == nil {
		r.findIn(moved, elsewhere)
	}
}

// far reports whether predictions before the first step have another size than the label's numbers. One that begins
// around the label's mean, with less of a deviation, is scaled.
func (r *Report) far(label Feed) bool {
	size := max(math.Abs(label.Mean), label.Deviation)
	mean, deviation := r.before.moments()
	narrow := math.Abs(mean) < size/2 && label.Deviation-deviation > 0.9*size
	return math.Abs(label.Mean-mean) > 0.9*size || narrow
}

// regression reports whether the loss is for numbers, classes whether it is for labels 0 and 1.
func (r *Report) regression() bool {
	return slices.Contains([]string{"square_error", "absolute_error", "smooth_l1"}, r.graph.loss)
}

func (r *Report) classes() bool {
	if len(r.graph.labels) != 1 {
		return false
	}
	label := r.rows.feeds[r.graph.labels[0]]
	if label.many || len(label.values) != 2 {
		return false
	}
	_, zero := label.values[0]
	_, one := label.values[1]
	_, number := label.values[uint64(math.Float32bits(1))]
	return zero && (one && label.ids || number && !label.ids)
}

// rarer is the share of rows with the rarer of two labels.
func (r *Report) rarer() float64 {
	least, all := math.MaxInt, 0
	for _, value := range r.rows.feeds[r.graph.labels[0]].values {
		least, all = min(least, value.n), all+value.n
	}
	return float64(least) / float64(all)
}

// apart checks the rows: against the batch size, their order, and the test rows.
func (r *Report) apart(j Job) {
	if r.StepsAnEpoch == 1 && r.Rows > 1 && j.Batch > r.Rows && !j.Brief {
		r.find(fmt.Sprintf("a batch of %d is more than the %d rows, so that an epoch is one step", j.Batch, r.Rows),
			"a smaller -batch")
	}
	same := func(l [2]float64) bool { return l[0] == l[1] }
	if n := len(r.labels); n > 1 && r.classes() && float64(n*j.Batch)*r.rarer() >= 10 &&
		!slices.ContainsFunc(r.labels, func(l [2]float64) bool { return !same(l) }) {
		r.find(fmt.Sprintf("in each of the first %d steps all rows have one label", n),
			"rows come in the order of their labels: Shuffle them in Job.Rows")
	}
	again := 0
	for h := range r.tested.hashes {
		if _, known := r.rows.hashes[h]; known {
			again++
		}
	}
	tested, distinct := len(r.tested.hashes), float64(len(r.rows.hashes))/float64(max(r.Rows, 1))
	if share := float64(again) / float64(max(tested, 1)); tested >= enoughRows &&
		(distinct > 0.5 && share > 0.9 || r.copied() && share > 0.5) {
		r.find(fmt.Sprintf("%s of the test rows are rows to train on", percent(share)),
			"test on rows of another file, or on a share that is held out (Files.HeldOut); if the file has rows "+
				"several times, remove them, or keep those of one thing together (GroupBy)")
	}
	if label := r.labelFeed(r.tested); label != nil && label.constant() && !r.labelFeed(r.rows).constant() {
		r.find("all test rows have one label", "an AUC of them does not exist: take more rows, or others")
	}
}

// copied reports whether rows that come again are copies: hardly any has another label than the first time, as many of
// those would that are alike by chance.
func (r *Report) copied() bool {
	label := r.labelFeed(r.rows)
	if label == nil || r.rows.labels < r.Rows || r.found(leaks) {
		return false
	}
	several, mixed, chance := 0.0, 0.0, 0.0 // that two rows have one label
	for _, a := range r.rows.hashes {
		if a.n > 1 {
			several++
		}
		if a.mixed {
			mixed++
		}
	}
	for _, t := range label.values {
		if !label.many {
			chance += float64(t.n) * float64(t.n) / float64(r.Rows) / float64(r.Rows)
		}
	}
	return several >= enoughRows && 10*mixed < (1-chance)*several
}

func (r *Report) labelFeed(of readings) *reading {
	if len(r.graph.labels) != 1 {
		return nil
	}
	return of.feeds[r.graph.labels[0]]
}

// serving checks what the saved model needs.
func (r *Report) serving() {
	for _, l := range r.graph.labels {
		if r.graph.needed[l] {
			r.find(fmt.Sprintf("Job.Outputs are computed from the label %q", l),
				"who asks the saved model does not know it: give Outputs predictions alone")
		}
	}
}

// tables finds tables without room for all their ids.
func (r *Report) tables(j Job) {
	for _, p := range j.Loss.Params() {
		if !p.Embedding || p.MaxBytes == 0 {
			continue
		}
		ids := r.lookups(p.Name)
		do := "the others stay without a row: more bytes, or more servers, which have so many each; an Entry has " +
			"rare ids wait, and Evict drops rows for them"
		if p.Evict.By != "" {
			do = "rows are dropped for the others, and ids that come back begin anew: more bytes, or more servers, " +
				"which have so many each"
		}
		if fit := fits(p, j.Rule, ids); fit < len(ids) {
			r.find(fmt.Sprintf("table %q has room for %d of its %d ids (MaxBytes %d)", p.Name, fit, len(ids),
				p.MaxBytes), do)
		}
	}
}

// lookups are the ids that look up a table.
func (r *Report) lookups(table string) (ids []uint64) {
	known := map[uint64]bool{}
	for _, feed := range r.graph.looked[table] {
		for id := range r.rows.feeds[feed].values {
			if !known[id] {
				known[id], ids = true, append(ids, id)
			}
		}
	}
	return ids
}

// fits is the number of ids that a table has room for, by filling one.
func fits(p *optimizer.Param, rule optimizer.Rule, ids []uint64) (n int) {
	t, err := local.New([]*optimizer.Param{p}, rules.For(rule, p))
	if err != nil {
		return 0
	}
	row := make([]float32, p.Dim())
	for i := range ids {
		if t.SetRows(p.Name, ids[i:i+1], row) == nil {
			n++
		}
	}
	return n
}

// predictions checks predictions before and after the steps.
func (r *Report) predictions() {
	switch pred := r.graph.pred; {
	case pred == nil:
	case r.graph.loss == "softmax_with_cross_entropy" && pred.Op() == "softmax":
		r.find(fmt.Sprintf("%v is probabilities, and %s makes some of them again", pred, r.graph.loss),
			"give the loss what comes before Softmax, or take CrossEntropy")
	case r.graph.loss == "binary_cross_entropy_with_logits" && pred.Op() == "sigmoid":
		r.find(fmt.Sprintf("%v is a probability, and %s makes one of it again", pred, r.graph.loss),
			"give the loss what comes before Sigmoid, or take BinaryCrossEntropy")
	case r.averages(): // so few steps say nothing about predictions, which use them
	case r.before.alike() && r.then.alike():
		r.find(fmt.Sprintf("predictions %v are the same for all rows, before and behind %d steps", pred, len(r.Losses)),
			"look whether the feeds reach them: a layer that begins with zeros, or numbers that are lost on the way")
	case r.before.certain() > 0.9 && r.classes():
		r.find(fmt.Sprintf("predictions %v are 0 or 1 for %s of the rows before the first step", pred,
			percent(r.before.certain())),
			"numbers are too large for the layers: Scale or Standardize them, or begin with nn.BatchNorm")
	case r.then.Dead(r.last()) != "":
		r.find(fmt.Sprintf("predictions %v are all alike, or all 0 or 1, behind %d steps", pred, len(r.Losses)),
			"a smaller learning rate (-lr), and numbers of a size around 1 in the feeds")
	}
}

// averages reports whether steps moved frozen params, as batch norm moves its averages.
func (r *Report) averages() bool {
	return slices.ContainsFunc(r.Params, func(p Param) bool { return p.Frozen && p.Moved > 0 })
}

// gradients finds params without a gradient.
func (r *Report) gradients() {
	var still []string
	for _, p := range r.Params {
		if !p.Frozen && p.Gradient == 0 {
			still = append(still, fmt.Sprintf("%q", p.Name))
		}
	}
	if still != nil {
		r.find(fmt.Sprintf("no gradient came to %s in %d steps", strings.Join(still, ", "), len(r.Losses)),
			"units that are 0 for all rows (a ReLU behind weights or numbers that are all negative), or a layer that "+
				"the loss does not depend on")
	}
}

// rate checks the learning rate.
func (r *Report) rate() {
	first, last := r.Losses[0], r.last()
	var size, moved float64
	for _, p := range r.Params {
		if !p.Frozen && p.Gradient > 0 {
			size, moved = math.Hypot(size, p.Norm), math.Hypot(moved, p.Moved)
		}
	}
	switch {
	case last > 2*first && last-first > 0.5:
		r.find(fmt.Sprintf("the loss rises from %.4g to %.4g in %d steps", first, last, len(r.Losses)),
			"a smaller learning rate (-lr)")
	case size > 0 && moved > 100*size:
		r.find(fmt.Sprintf("%d steps make the weights %.0f times as large", len(r.Losses), moved/size),
			"a smaller learning rate (-lr)")
	case size > 0 && moved < 1e-7*size && len(r.Losses) == tried:
		r.find(fmt.Sprintf("%d steps move the weights by %.1g of their size", tried, moved/size),
			"a larger learning rate (-lr)")
	}
}

// last is the mean loss of the last steps.
func (r *Report) last() float64 {
	steps, sum := r.Losses[max(0, len(r.Losses)-3):], 0.0
	for _, l := range steps {
		sum += l
	}
	return sum / float64(len(steps))
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }
