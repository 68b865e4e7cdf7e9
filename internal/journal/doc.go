// Package journal keeps the changes that a process makes on a local disk, in the order in which it made them, so that
// the process, when it is killed and started again, makes them anew. It knows files and bytes; what the changes are,
// package server says.
//
//	record.go      one change as bytes, with a number and a checksum
//	segment.go     a file: what it begins from, and records
//	journal.go     the segments of one process: found, played, added to, removed
//	life.go        their names, by which a process reads nothing of those before that run still
//	durable.go     when what was added survives
//	torn.go        what a process was writing as it died, or damage
//	boot.go        which start of the machine this is
//
// A journal is a series of segments, files NAME.000001, NAME.000002 and so on. Each begins with a head, which says what
// the state was then: in the words of package server a checkpoint, and what a checkpoint does not hold. To come to the
// present state a process takes any segment whose head is good for it, the newest that it can, and plays the records of
// that segment and of all after it.
//
//	NAME.000007   head: checkpoint 6    records      can be removed once checkpoint 7 is whole
//	NAME.000008   head: checkpoint 7    records
//	                                          ▲ appended here
//
// # What survives
//
// A record that was appended survives the process: it is the operating system's when [Journal.Append] returns. It
// survives the machine once [Journal.Durable] has returned, in a journal that is asked to. A journal that is not asked
// to is good for nothing when the machine was started again since, and says so: its last records may be missing,
// unseen.
//
// # Invariants
//
//   - Records are numbered through all segments without a gap. A record whose checksum is wrong, or that is missing,
//     ends the journal with an error; but what a process was writing as it died, at the end of the last segment, is cut
//     off: no answer was sent for it. A durable journal has marks, which say up to which record all had reached the
//     disk: damage before such a mark is no torn end.
//   - A file that can't be read is no damage: nothing is removed for it.
//   - After an error of a file nothing more is appended: what came after would be played without what came before.
//   - Two processes never have a journal open at a time, where locks reach both. Elsewhere the later counts: what the
//     one before still writes or removes is not the later one's.
package journal
