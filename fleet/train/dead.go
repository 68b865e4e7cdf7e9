package train

// spread is how far a model's predictions for some rows lie apart, by the last number of each, in sums that add up over
// workers: the rows, the predictions, their squares, and how many are as good as 0 or 1.
type spread [4]float64

// see adds a batch's predictions, of so many rows.
func (s *spread) see(predictions []float32, rows int) {
	const edge = 1e-6
	width := len(predictions) / max(rows, 1)
	if width == 0 { // a mean of the batch, which says nothing of its rows
		return
	}
	for i := range rows {
		p := float64(predictions[(i+1)*width-1])
		s.add([]float64{1, p, p * p, 0})
		if p >= 0 && p < edge || p > 1-edge && p <= 1 {
			s[3]++
		}
	}
}

func (s *spread) add(sums []float64) {
	for i := range s {
		s[i] += sums[i]
	}
}

// enoughRows are so many that predictions which are all alike are no accident.
const enoughRows = 50

// dead says in what way the predictions have nothing to do with the rows, "" if they may have. A loss of next to
// nothing is a model that is right.
func (s *spread) dead(loss float64) string {
	rows, sum, squares, certain := s[0], s[1], s[2], s[3]
	switch {
	case rows < enoughRows || !(loss > 1e-3):
		return ""
	case squares-sum*sum/rows <= 1e-12*squares:
		return "all alike"
	case certain == rows && loss > 0.5:
		return "all 0 or 1"
	}
	return ""
}
