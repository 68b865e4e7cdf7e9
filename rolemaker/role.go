package rolemaker

import "fmt"

// Role is what a process does in a job.
type Role int

const (
	// Worker computes gradients.
	Worker Role = 1
	// Server keeps parameters.
	Server Role = 2
)

// String is "worker" or "server".
func (r Role) String() string {
	switch r {
	case Worker:
		return "worker"
	case Server:
		return "server"
	}
	return fmt.Sprintf("Role(%d)", int(r))
}
