// Package journal records the changes that a process makes, in order, on a local disk. A process that was killed and
// restarted reads the journal and makes the same changes again. The package handles files and bytes; package server
// defines the changes.
//
//	record.go      one change as bytes, with a number and a checksum
//	segment.go     a file: its head, and records
//	journal.go     the segments of one process: found, replayed, appended to, removed
//	life.go        their names, which keep apart the files of processes that were replaced
//	durable.go     waiting until records are on the disk
//	torn.go        telling an unfinished last record from damage
//	boot.go        the machine's last start
//
// A journal is a series of segments, files NAME.000001, NAME.000002 and so on. Each begins with a head, which describes
// the state at its start: for package server a checkpoint, and what a checkpoint does not hold. To restore the present
// state a process takes the newest segment whose head it can use, and replays the records of that segment and of all
// after it.
//
//	NAME.000007   head: checkpoint 6    records      can be removed once checkpoint 7 is whole
//	NAME.000008   head: checkpoint 7    records
//	                                          ▲ appended here
//
// # What survives
//
// An appended record survives the process: the operating system has it when [Journal.Append] returns. With
// [Options].Durable it survives the machine once [Journal.Durable] has returned. Without, a journal is useless after
// the machine has restarted, and Play returns [ErrReboot]: its last records may be missing without a trace.
//
// # Invariants
//
//   - Records are numbered through all segments without a gap. A missing record, or one with a wrong checksum, is an
//     error. But a record that a process was writing as it died, at the end of the last segment, is cut off: no answer
//     was sent for it. A durable journal has marks, which name a record up to which all were on the disk: damage before
//     such a record is an error.
//   - A file that can't be read does not count as damaged: nothing is removed for it.
//   - After an error of a file no record is appended: later records would be replayed without earlier ones.
//   - Two processes never have a journal open at a time, if locks reach both. Otherwise the later one counts: it does
//     not use what the earlier one still writes, or miss what that removes.
package journal
