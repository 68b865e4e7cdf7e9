package peer

// Error is the failure of a request to another process, or of a wait for it, with the process that it is about. Its
// text is Err's, which names the process too.
type Error struct {
	// Role is "server", or "rank" for a worker of a job without servers, Index its number, and Endpoint the address of
	// the request.
	Role     string
	Index    int
	Endpoint string
	// Worker is the worker that sent the request, -1 if a server sent it.
	Worker int
	// Table is the variable whose rows were read; empty for other requests.
	Table string
	// Awaits is what a server last reported to wait for, and for which workers; empty without a report.
	Awaits string
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
