package twin

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// ledger says which samples a mortal leg has counted less or more often than its epochs say. What a life that ended
// before its work was done had on its way counts twice in async and half_async: two steps' samples of each thread at
// most. Where the others go on without a worker that has died, its samples may be missing.
func (p Program) ledger(saw Seen, leg int) (wrong []string) {
	l := p.Legs[leg]
	want, lost, most, all := map[int]float64{}, map[int]int{}, 0, 0
	for _, c := range l.Calls {
		for w, steps := range c.Batches {
			for k, batch := range steps {
				most = max(most, len(batch))
				for _, i := range batch {
					want[i] += l.weight(steps, k)
					all++
					if l.loses(w) {
						lost[i]++
					}
				}
			}
		}
	}
	more, less, may := 0.0, 0.0, 0.0
	if l.repeats() {
		may = 2 * float64(saw.deaths*most*max(1, l.Threads))
	}
	if l.goesOnWithout() && l.Servers > 1 { // a last gradient of the dead that one server had counted, and another not
		may = float64(saw.deaths * most)
	}
	for i := range p.Samples {
		row := saw.of[fmt.Sprintf("%s %s row %d", l.End, ledgerName, i)]
		got := 0.0
		if row != nil {
			got = row[0]
		}
		switch d := got - want[i]; {
		case d < -0.01 && l.copies():
			less -= d
		case d < -0.01-float64(lost[i]):
			wrong = append(wrong, fmt.Sprintf("sample %d has counted %.3g times, want %.3g", i, got, want[i]))
		case d > 0.01:
			more += d
		}
	}
	if l.copies() { // what exchanges had left may be missing, and what of one some servers never had
		steps := float64(l.Workers * l.Strategy.KSteps * most * max(1, l.Threads))
		may = float64(len(l.Strikes)) * steps
		if l.Strategy.GeoRest == strategy.GeoRestKeep { // at most all but a share of each count, and what had to wait
			may += steps + float64(all)*(1-1/float64(l.Workers))
		}
		if less > may+0.01 {
			wrong = append(wrong, fmt.Sprintf("%.3g counts of samples are missing, may be %v", less, may))
		}
		may = 0
	}
	if more > may+0.01 {
		wrong = append(wrong, fmt.Sprintf("samples have counted %.3g times too often, may be %v", more, may))
	}
	return wrong
}

// weight is what a batch's samples count where its thread's gradient becomes part of a mean, by samples, of what the
// threads that meet push together. A thread begins when it has read two batches: those that have no more than one meet
// without the others.
func (l Leg) weight(steps [][]int, batch int) float64 {
	n := l.Threads
	if n < 2 || l.Strategy.Merge != strategy.MergeMean {
		return 1
	}
	first := batch - batch%n
	last := min(first+n, len(steps))
	switch second := len(steps) - n; {
	case first > 0 || second <= 0 || second >= n:
	case batch < second:
		last = second
	default:
		first = second
	}
	all := 0
	for _, b := range steps[first:last] {
		all += len(b)
	}
	return float64(len(steps[batch])) / float64(all)
}

// loses says whether the others may go on without what a worker had to train: one that is struck, or any where a server
// stands still, which then takes workers for dead.
func (l Leg) loses(worker int) bool {
	return l.goesOnWithout() && slices.ContainsFunc(l.Strikes, func(s Strike) bool {
		return s.Role == fmt.Sprintf("worker %d", worker) || s.Kind == "pause" && s.Role[:6] == "server"
	})
}

// counted says whether the ledger alone can judge a leg: its processes die, and the order of pushes decides, or who has
// died is gone.
func (l Leg) counted() bool { return l.mortal() && (l.ordered() || l.copies() || l.goesOnWithout()) }

// repeats says whether a worker that is started again alone trains again on what was on its way.
func (l Leg) repeats() bool { return l.kind() == "async" || l.kind() == "half_async" }
