package client

import (
	"fmt"

	"github.com/gofleet/gofleet/optimizer"
)

// checkStep refuses a step whose rows are not those of the layout, before anything of it is sent.
func checkStep(c *Client, st *optimizer.Step) error {
	l := c.c.Layout
	if len(st.Rows) != len(l.Embeddings) {
		return fmt.Errorf("a step has rows of %d embeddings: the objective has %d", len(st.Rows), len(l.Embeddings))
	}
	for e, i := range l.Embeddings {
		r := &st.Rows[e]
		if r.Param == nil || r.Param.Name != l.Params[i].Name {
			return fmt.Errorf("a step's rows %d are not those of embedding %q", e, l.Params[i].Name)
		}
		if want := len(r.IDs) * r.Param.Dim(); len(r.W) != want || !st.Eval && len(r.G) != want {
			return fmt.Errorf("embedding %q: %d ids need %d values, have %d weights and %d gradients", r.Param.Name, len(r.IDs), want, len(r.W), len(r.G))
		}
		if err := increasing(r.IDs); err != nil {
			return fmt.Errorf("embedding %q: %w", r.Param.Name, err)
		}
		if err := l.CheckIDs(i, r.IDs); err != nil {
			return err
		}
	}
	if !st.Eval && st.Samples <= 0 {
		return fmt.Errorf("a training step of %d samples", st.Samples)
	}
	return nil
}

func increasing(ids []uint64) error {
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			return fmt.Errorf("id %d after %d: a step's ids are unique and increasing", ids[i], ids[i-1])
		}
	}
	return nil
}

// checkGradients refuses a step with a gradient that is not a number or infinite: applied, it would spoil the weights for
// everybody.
func checkGradients(c *Client, params []*optimizer.Param, st *optimizer.Step) error {
	for _, p := range params {
		if p.Embedding || p.Frozen {
			continue
		}
		if i := firstNotFinite(p.G); i >= 0 {
			return fmt.Errorf("worker %d: the gradient of %q is %v at element %d: lower the learning rate or look at the batch", c.c.Worker, p.Name, p.G[i], i)
		}
	}
	for e := range st.Rows {
		r := &st.Rows[e]
		if i := firstNotFinite(r.G); i >= 0 {
			return fmt.Errorf("worker %d: the gradient of row %d of %q is %v: lower the learning rate or look at the batch", c.c.Worker, r.IDs[i/r.Param.Dim()], r.Param.Name, r.G[i])
		}
	}
	return nil
}

// firstNotFinite is the index of the first NaN or infinity, -1 if there is none.
func firstNotFinite(x []float32) int {
	const stride = 256
	for at := 0; at < len(x); at += stride {
		part := x[at:min(at+stride, len(x))]
		var sum float32
		for _, v := range part {
			sum += v - v // NaN once any value is not finite
		}
		if sum == 0 {
			continue
		}
		for i, v := range part {
			if v-v != 0 {
				return at + i
			}
		}
	}
	return -1
}
