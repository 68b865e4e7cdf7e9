package nn

// denseSetter is a trainer that stores values which training computes without gradients.
type denseSetter interface {
	SetDense(name string, w []float32) error
}

// move updates element i of a moving average, a frozen parameter, with one more value. The executor changes a copy
// until a trainer has taken it.
func (c *cell) move(i int, v, momentum float32) {
	if !c.news {
		c.moved = append(c.moved[:0], c.value...)
		c.value, c.news = c.moved, true
	}
	c.moved[i] = c.moved[i]*momentum + v*(1-momentum)
}

// publish passes the moving averages of a step to a trainer that stores them, whose sessions return what was last set:
// by other executors, by a meeting of all workers, or by a load.
func (e *engine) publish() error {
	_, trainer := e.graph.bound()
	s, ok := trainer.(denseSetter)
	if !ok {
		return nil
	}
	for _, c := range e.cells {
		if c == nil || !c.news {
			continue
		}
		if err := s.SetDense(c.param.Name, c.moved); err != nil {
			return err
		}
		copy(c.param.W, c.moved)
		c.value, c.news = c.param.W, false
	}
	return nil
}
