package nn

import (
	"fmt"
	"math"
)

// MAE is the mean absolute error |pred−label| of all elements, over all batches since [Executor.ResetMetrics], of shape
// [1]; 0 when there are none. pred is float32, label float32 or int64 of the same shape. It is a metric:
// [AbsoluteError] is the loss.
func MAE(pred, label *Node) *Node { return apply("", meanError{"mae"}, pred, label) }

// MSE is the mean squared error (pred−label)² of the elements of which [MAE] is the mean absolute error; [SquareError]
// is the loss.
func MSE(pred, label *Node) *Node { return apply("", meanError{"mse"}, pred, label) }

// RMSE is the root of [MSE].
func RMSE(pred, label *Node) *Node { return apply("", meanError{"rmse"}, pred, label) }

// meanErrors are the means of errors, by kind.
var meanErrors = map[string]func(m *misses) float64{
	"mae":  func(m *misses) float64 { return m.mean(m.abs) },
	"mse":  func(m *misses) float64 { return m.mean(m.sqr) },
	"rmse": func(m *misses) float64 { return math.Sqrt(m.mean(m.sqr)) },
}

// meanError is a metric of the table meanErrors.
type meanError struct{ kindOf string }

func (e meanError) kind() string                  { return e.kindOf }
func (meanError) infer(in []*Node) ([]int, error) { return []int{1}, sameNumbers(measure{}, in) }
func (e meanError) forward(c *cell)               { c.value[0] = float32(e.of(c.miss())) }
func (meanError) backward(*cell)                  {}
func (meanError) tally(*Node) tally               { return &misses{} }
func (e meanError) of(t tally) float64            { return meanErrors[e.kindOf](t.(*misses)) }

// misses are sums of errors.
type misses struct {
	abs, sqr float64
	n        int64
}

func (m *misses) reset()         { *m = misses{} }
func (m *misses) problem() error { return nil }

// mean divides a sum by the number of elements counted.
func (m *misses) mean(sum float64) float64 { return sum / float64(max(m.n, 1)) }

// miss adds this batch's errors to the sums.
func (c *cell) miss() *misses {
	m, label := c.tally.(*misses), c.in[1]
	for i, p := range c.in[0].value {
		d := float64(p) - label.number(i)
		m.abs, m.sqr = m.abs+math.Abs(d), m.sqr+d*d
	}
	m.n += int64(len(c.in[0].value))
	return m
}

// Errors returns the sums behind an MAE, MSE or RMSE node in this executor: of absolute errors, of squared ones, and
// the number of elements.
func (e *Executor) Errors(node *Node) (abs, sqr float64, n int64, err error) {
	return errorsOf(e.tally("Errors", node))
}

func errorsOf(node *Node, t tally, err error) (abs, sqr float64, n int64, _ error) {
	m, ok := t.(*misses)
	if err != nil {
		return 0, 0, 0, err
	}
	if !ok {
		return 0, 0, 0, fmt.Errorf("nn: Errors: %s measures no errors", node.label())
	}
	return m.abs, m.sqr, m.n, nil
}

func (meanError) falls() bool { return true }

func (m *misses) sums() []float64 { return []float64{m.abs, m.sqr, float64(m.n)} }

func (m *misses) set(s []float64) { m.abs, m.sqr, m.n = s[0], s[1], int64(s[2]) }
