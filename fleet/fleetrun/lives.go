package main

import "time"

// lives are the processes that a role has had in an attempt, one after the other. If they end soon, repeatedly, the
// next is started after a pause, which doubles each time.
type lives struct {
	began time.Time // beginning of the last process
	short int       // ends since the last long life
}

// A life of longLife is long, and resets the count. After the first short life the role is started again at once.
const (
	longLife          = time.Minute
	longestPauseAlone = 30 * time.Second
)

// pause is the time until the role is started again, now that its process has ended.
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
