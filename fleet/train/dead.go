package train

import "log/slog"

// spread is how far a model's predictions for some rows lie apart, as numbers that add up over workers.
type spread struct {
	rows              float64
	first, last       float64 // sums of the predictions' first and last numbers
	firstSqr, lastSqr float64 // and of their squares
	certain, outside  float64 // rows whose last number is as good as 0 or 1, and those where it is no probability
}

// spreadLen is how many numbers a spread is.
const spreadLen = 7

// see adds a batch's predictions, of so many rows.
func (s *spread) see(predictions []float32, rows int) {
	const edge = 1e-6
	width := len(predictions) / max(rows, 1)
	if width == 0 {
		return
	}
	for ; len(predictions) >= width; predictions = predictions[width:] {
		first, last := float64(predictions[0]), float64(predictions[width-1])
		s.rows++
		s.first, s.firstSqr = s.first+first, s.firstSqr+first*first
		s.last, s.lastSqr = s.last+last, s.lastSqr+last*last
		switch {
		case last < 0 || last > 1:
			s.outside++
		case last < edge || last > 1-edge:
			s.certain++
		}
	}
}

func (s *spread) sums() []float64 {
	return []float64{s.rows, s.first, s.last, s.firstSqr, s.lastSqr, s.certain, s.outside}
}

func (s *spread) add(sums []float64) {
	s.rows, s.first, s.last = s.rows+sums[0], s.first+sums[1], s.last+sums[2]
	s.firstSqr, s.lastSqr = s.firstSqr+sums[3], s.lastSqr+sums[4]
	s.certain, s.outside = s.certain+sums[5], s.outside+sums[6]
}

// enoughRows are so many that predictions which are all alike are no accident.
const enoughRows = 50

// dead says in what way the predictions have nothing to do with the rows, "" if they may have. A loss of next to nothing is a model that is
// right.
func (s *spread) dead(loss float64) string {
	alike := func(sum, squares float64) bool { return squares-sum*sum/s.rows <= 1e-12*squares }
	switch {
	case s.rows < enoughRows || !(loss > 1e-3):
		return ""
	case alike(s.first, s.firstSqr) && alike(s.last, s.lastSqr):
		return "all alike"
	case s.certain == s.rows && loss > 0.5:
		return "all 0 or 1"
	}
	return ""
}

// warnDead says once that the model predicts without regard to the rows.
func (r *Run) warnDead(words []word, e Evaluation) {
	pred := r.Job.Loss.Prediction()
	if pred == nil || r.test == nil || r.dead {
		return
	}
	var s spread
	for _, w := range words {
		if n := len(w.Sums); w.Kind == measures && n >= spreadLen {
			s.add(w.Sums[n-spreadLen:])
		}
	}
	if how := s.dead(e.Values[EvalLoss]); how != "" {
		r.dead = true
		slog.Warn("train: the model predicts the same whatever it is fed, so that it learns nothing more: most often numbers are fed as "+
			"they are (Scale or Standardize them, or begin with nn.BatchNorm), or the learning rate is too high",
			"predictions", how, "node", pred.Label(), "epoch", e.Epoch)
	}
}
