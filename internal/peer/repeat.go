package peer

import (
	"context"
	"time"
)

// Verdict says what follows an attempt.
type Verdict int

// The verdicts.
const (
	Done  Verdict = iota // nothing: the attempt's error is the result
	Pause                // another attempt, after a pause
	Again                // another one at once
)

// Pauses are the pauses between attempts: First, twice as long after every attempt, Last at most.
type Pauses struct{ First, Last time.Duration }

// Repeat makes attempts until one is Done, and returns the error of the last. When ctx ends, a pause ends with it, and
// the attempt after it is the last, so that it can say why there is none.
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
