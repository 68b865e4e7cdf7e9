// Package awake measures silence by a clock that stops while its process is suspended.
//
// A process that was stopped, whose cgroup was frozen or whose machine was suspended finds, when it continues, that it
// has received nothing for a long time. That does not show that the other processes are silent: they may have been
// suspended as well, and their messages wait unread in the sockets. So silence is measured by a [Clock], which is read
// at least every few seconds while the process runs, and counts a longer gap between two readings as sleep.
//
// [Rest] is a pause.
package awake
