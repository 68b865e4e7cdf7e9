package nn

// denseSetter is a trainer that takes values which training computes without gradients.
type denseSetter interface {
	SetDense(name string, w []float32) error
}

// move takes one more value into element i of a moving average, a frozen parameter. The executor works on a copy of it
// from then on.
func (c *cell) move(i int, v, momentum float32) {
	if c.moved == nil {
		c.moved = append([]float32(nil), c.value...)
		c.value = c.moved
	}
	c.moved[i] = c.moved[i]*momentum + v*(1-momentum)
	c.news = true
}

// publish hands what a step has moved to a trainer that takes it.
func (e *Executor) publish() error {
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
		c.news = false
	}
	return nil
}
