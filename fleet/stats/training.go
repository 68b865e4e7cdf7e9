package stats

// Training is the progress of training, set by fleet.Fleet.ShowTraining. Package fleet/train sets it.
type Training struct {
	Epochs int // planned number of epochs; 0 if unknown
	Curves []Curve
	Marks  []Mark
}

// Curve is a line of a panel, such as the loss on the test rows. Its points, at most a few hundred, are the number of
// examples that all workers have trained on and a finite value.
type Curve struct {
	Panel, Name string
	Points      [][2]float64
	Best        []float64 // the best point, empty where none is
}

// Mark is an event on the curves: the end of an epoch, a restart, or a checkpoint.
type Mark struct {
	At         float64 // examples
	Kind, Text string  // Kind is epoch, restart or checkpoint
}
