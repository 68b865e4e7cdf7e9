package fleet

import "github.com/gofleet/gofleet/internal/peer"

// Error adds context to the errors of calls that needed another process. errors.As finds the server or collective rank
// that was asked, the worker that asked, the variable whose rows were read, and what a server waited for; on a server,
// which other server ended the job. Use errors.Is for the kind of failure, such as ErrWentBack.
type Error = peer.Error
