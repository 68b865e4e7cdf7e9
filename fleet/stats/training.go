package stats

// Training is how training goes, as a program says by fleet.Fleet.ShowTraining. Package fleet/train does.
type Training struct {
	Epochs int // that there are to be; 0 if unknown
	Curves []Curve
	Marks  []Mark
}

// Curve is a line of a panel, such as the loss on the test rows: points of examples that all workers have trained on
// and a finite value there, at most a few hundred.
type Curve struct {
	Panel, Name string
	Points      [][2]float64
	Best        []float64 // the best point, empty where none is
}

// Mark is something that happened there: the end of an epoch, a restart, or a checkpoint.
type Mark struct {
	At         float64 // examples
	Kind, Text string  // Kind is epoch, restart or checkpoint
}
