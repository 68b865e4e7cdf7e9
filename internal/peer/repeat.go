package peer

import (
	"context"
	"time"
)

// Verdict is what follows an attempt.
type Verdict int

// The verdicts.
const (
	Done  Verdict = iota // nothing: the attempt's error is the result
	Pause                // another attempt, after a pause
	Again                // another attempt at once
)

// Pauses are the pauses between attempts: First after the first, twice as long after every further attempt, at most
// Last.
type Pauses struct{ First, Last time.Duration }

// Repeat makes attempts until one is Done, and returns the error of the last. The end of ctx ends a pause; the attempt
// after it is the last, whose error can give the reason.
func Repeat(ctx context.Context, p Pauses, attempt func() (Verdict, error)) error {
	for pause := p.First; ; pause = min(2*pause, p.Last) {
		over := ctx.Err() != nil
		verdict, err := attempt()
		if verdict == Done || over {
			return err
		}
		if verdict == Again {
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}
