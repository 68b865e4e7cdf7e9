package main

import "time"

// lives are the processes that a role has had in an attempt, one after the other. Where they end soon, over and over,
// the next is started behind a pause, which doubles from one to the next.
type lives struct {
	began time.Time // the one that runs, or ran last
	short int       // ends since one of them was long
}

// A life is long from here on, and what was before it no longer counts. The first end is none of a row: that role is
// started again at once.
const (
	longLife          = time.Minute
	longestPauseAlone = 30 * time.Second
)

// pause is how long the role rests now that its process has ended.
func (l *lives) pause(now time.Time) time.Duration {
	if now.Sub(l.began) >= longLife {
		l.short = 0
	}
	l.short++
	if l.short == 1 {
		return 0
	}
	return min(firstPause<<min(l.short-2, 10), longestPauseAlone)
}
