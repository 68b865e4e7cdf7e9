package train

import "github.com/gofleet/gofleet/nn"

// curve is the training loss over the examples of all workers, as measured by this worker: each point is the mean of
// several steps. The number of points is bounded, however long the job is. Checkpoints have the curve, so that a
// restarted job draws all of it.
type curve struct {
	Every  int     `json:"every"` // steps of a point
	Points []point `json:"points"`

	Steps  int     `json:"steps,omitempty"` // of the next point, with their weight and weighted losses
	Weight float64 `json:"examples,omitempty"`
	Full   float64 `json:"full,omitempty"` // weight of the heaviest step; a point has at least half of Every such
	Loss   float64 `json:"loss,omitempty"`

	Again []float32 `json:"again,omitempty"` // where the job was restarted; of very many only the last

	before nn.TrainResult // the epoch's result after the last step
}

// point is a point of a picture.
type point [2]float32

// curvePoints bounds a curve: when it has that many points, each two become one.
const curvePoints = 256

// restart is called at the start of an epoch, whose results begin anew.
func (c *curve) restart() { c.before = nn.TrainResult{} }

// step adds a step: so is the epoch's result after it, and at the number of examples of all workers then.
func (c *curve) step(so nn.TrainResult, at int) {
	weight, loss := so.Weight-c.before.Weight, so.Loss*so.Weight-c.before.Loss*c.before.Weight
	c.before = so
	if !finite(float64(float32(loss))) {
		return
	}
	c.Full = max(c.Full, weight)
	c.Steps, c.Weight, c.Loss = c.Steps+1, c.Weight+weight, c.Loss+loss
	if c.Steps < c.Every || c.Weight < float64(max(c.Every, 1))*c.Full/2 { // an epoch's last batch may be small
		return
	}
	c.Points = appendPoint(c.Points, float64(at), c.Loss/c.Weight)
	c.Steps, c.Weight, c.Loss = 0, 0, 0
	if len(c.Points) == curvePoints {
		c.halve()
	}
}

// appendPoint leaves out values that can't be drawn or encoded in checkpoints.
func appendPoint(to []point, at, v float64) []point {
	if !finite(float64(float32(v))) {
		return to
	}
	return append(to, point{float32(at), float32(v)})
}

// halve makes one point of each two, at the place of the later one.
func (c *curve) halve() {
	for i := range len(c.Points) / 2 {
		a, b := c.Points[2*i], c.Points[2*i+1]
		c.Points[i] = point{b[0], (a[1] + b[1]) / 2}
	}
	c.Points, c.Every = c.Points[:len(c.Points)/2], 2*max(c.Every, 1)
}

// drawn is the line to draw. For the time before the curve, if checkpoints had none, it has the losses of evaluations.
func (c *curve) drawn(history []Evaluation) []point {
	var line []point
	for _, p := range pointsOf(history, TrainLoss) {
		if len(c.Points) == 0 || p[0] < c.Points[0][0] {
			line = append(line, p)
		}
	}
	return append(line, c.Points...)
}

// pointsOf are the evaluations' values of a name; of very many only some.
func pointsOf(history []Evaluation, name string) []point {
	var points []point
	every := 1 + len(history)/curvePoints
	for i, e := range history {
		if v, ok := e.Values[name]; ok && ((len(history)-1-i)%every == 0) {
			points = appendPoint(points, float64(e.Examples), v)
		}
	}
	return points
}
