package stats

// Traffic is what a worker and a server exchange for a step, on average.
type Traffic struct {
	// Floats is how many dense values live on the server.
	Floats int
	// Rows are the embeddings' that a step touches there.
	Rows float64
	// Pushed and Pulled are bytes from the worker to the server, and back.
	Pushed, Pulled float64
	// Trips are requests, each with its answer.
	Trips float64
}
