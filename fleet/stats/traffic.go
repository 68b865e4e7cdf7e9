package stats

// Traffic is the average exchange between a worker and a server for a step.
type Traffic struct {
	// Floats is the number of dense values on the server.
	Floats int
	// Rows is the number of embedding rows that a step touches there.
	Rows float64
	// Pushed and Pulled are the bytes from the worker to the server, and back.
	Pushed, Pulled float64
	// Trips are requests, each with its answer.
	Trips float64
}
