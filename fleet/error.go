package fleet

import "github.com/gofleet/gofleet/internal/peer"

// Error is in the errors of calls that needed another process: errors.As finds which server, or which rank of a
// collective job, was asked by which worker, of which variable rows were read, and what a server waited for; on a
// server, which other one ended the job. What went wrong is for errors.Is, as ErrWentBack.
type Error = peer.Error
