package peer

// Error is why something that a process asked of another, or waited for, has failed, with whom it is about. Its text is
// Err's, which names them too.
type Error struct {
	// Role is "server", or "rank" for a worker of a job without servers, Index its number, and Endpoint where it was
	// asked.
	Role     string
	Index    int
	Endpoint string
	// Worker is the one that asked, -1 where a server did.
	Worker int
	// Table is the variable whose rows were read; empty elsewhere.
	Table string
	// Awaits is what a server said last that it waits for, and for which workers; empty if it did not.
	Awaits string
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is what the error wraps.
func (e *Error) Unwrap() error { return e.Err }
