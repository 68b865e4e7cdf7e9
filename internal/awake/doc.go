// Package awake measures silence by a clock that stands still while its process does.
//
// A process that was stopped, whose cgroup was frozen or whose machine was suspended finds, when it goes on, that
// nothing has come to it for a long time. That says nothing about the others: they may have stood still as well,
// and what they sent lies unread in the sockets. So silence is counted by a [Clock], which is read at
// least every few seconds while the process runs, and takes a longer gap between two readings for sleep.
//
// [Rest] is a pause.
package awake
