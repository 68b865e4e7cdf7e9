// Package wire is the frame that workers and servers exchange: one message for each server and step, with the
// gradients, ids and weights of that step for that server.
//
// A frame is little-endian. It starts with a header of 64 bytes:
//
//	 0  u32  magic "gfl1"
//	 4  u8   version (5)
//	 5  u8   op
//	 6  u8   status: 0, or why the request was refused (replies only)
//	 7  u8   size of the parts that follow the header, in units of 8 bytes
//	 8  u64  job: fingerprint of the cluster (hello, join), or a number that only the sender and its servers know
//	16  u32  worker index; of a request among servers the sender's
//	20  u32  life: counts the lives of that worker, or of that server
//	24  u64  seq: numbers the worker's requests; with worker and life it makes a push count once
//	32  u64  round: phase<<32 | index, the sync round a push belongs to or a pull must reflect
//	40  u64  acked: every seq below this one was acknowledged, so the server may forget it; in a heartbeat, how many requests with a
//	           seq this server has answered as ones that count, and one more since it has brought the first weights
//	48  u64  version of the dense weights: held by the worker (request), sent (reply)
//	56  u32  samples behind the gradients; in a heartbeat, how many requests of this worker have waited for long; in the
//	           refusal of a reader that has read enough, milliseconds after which it may go on
//	60  u32  CRC-32C of bytes 0 to 59, of the parts, and of the heads of all sections
//
// The answer to a push uses three of these fields for its [Outcome]: samples is the number of its rows that were
// applied, acked the number that an entry policy or a budget dropped, and round is twice the version of the weights
// that the push was applied to, plus 1 if it had been counted before.
//
// The job of every frame but the first ones is a hash that proves the sender: it is made of the job's generation, which
// begins with server 0, and of one life of one worker, or of the servers. A process of another job, of an earlier run,
// or of another life is refused by it.
//
// Parts of the head may follow, each starting at a multiple of 8: u8 kind, u8 flags, u16 size of the payload in bytes,
// and the payload. Kind 3 is a u32, the life of a server: that of the server that answers, or in a request the highest
// that the sender knows of its receiver. It is present if that is not 0, and may be skipped. Kind 1 is reserved for a
// trace's context, 2 for a reader's proof: a reader's job is the number of the generation that it has begun to read,
// which is no secret; its transport's token gives it access.
//
// Sections follow, each starting at a multiple of 8: a head of 16 bytes (u8 kind, u8 flags, u16 zero, u32 param, u64
// size of the payload in bytes) and the payload. Floats are sent in their memory layout. Ids are strictly increasing
// and sent as uvarints of their differences less one (the first as it is); after them come zeros up to a multiple of 8:
//
//	KindDense  floats of all the server's dense blocks, in plan order; with OpKeep and OpBring of all frozen dense params, in theirs
//	KindIDs    u32 count, u32 bytes of ids, ids; with flag 8 their rows are read as by OpPeek, whatever the frame's op
//	KindRows   u32 count, u32 bytes of ids, ids, floats of count rows; the answer to KindIDs leaves the ids out (flag Bare)
//	KindBlob   bytes: the JSON of a control message, or an error's text
//	KindPiece  u32 number, u32 of: the frame is that piece of a push or publication that is too large for one
//	KindSpan   u64 from, u64 to: which of the server's dense floats KindDense holds, or a pull asks for; all without it
//	KindClicks floats, two for each id of the KindRows of that param before it: how often the id was shown, and clicked
//	KindChanged empty: asks for the rows of a param that changed since they were last asked for; in the answer: some are left,
//	           or, with flag 1, the rows from here on are all rows of the param, and other rows no longer exist
//	KindPosition, for each training thread whose gradient a push has: u16 thread, u16 of so many (0: nothing is known), u32 epoch,
//	           u64 samples of its share of that epoch up to and with this push, u64 steps of the thread in the job, and, with 1 as
//	           param, u32 bytes of frozen values, and them (packed by package fleet);
//	           a push need not have it
//
// Kind 10 is reserved for rows of two widths, 11 for dense weights by change.
//
// The flag 128 of a part or section says that it may be skipped. A receiver that does not know a part, or the kind or
// flags of a section, then skips it; otherwise it refuses the frame and names the unknown part ([ErrUnknown]). So a
// later build may send more to builds of this version, and make requests in what may be skipped.
//
// A frame of another version is refused, in a frame of this one, by a text that names both. So is one in a journal.
//
// The other flags of a section: 1 is Bare; 2, 4 and 6 say that the floats of pushed gradients are not 4 bytes each but
//
//	2  float16: IEEE 754 halves
//	4  bfloat16: the upper halves of float32s
//	6  int8: groups of a float32 scale and then the numbers, one byte each; a group is a row, or 256 of the dense floats
//	   (the last group may be shorter)
//
// rounded to nearest, ties to even, and to the largest number of the format if they are beyond it. Rows without ids,
// which are weights, are never narrowed.
//
// [Builder] writes a frame as a list of slices that alias the caller's floats; [Frame.Parse] reads one without copying.
// Sizes are checked against the bytes received before anything is allocated; narrowed values take at most four times
// their bytes when read.
//
// # Files, in reading order
//
//	header.go    ops, and the first 64 bytes
//	parts.go     additions to the header, by later builds too
//	builds.go    the refusal of other builds
//	status.go    why a request was refused
//	outcome.go   the outcome of a push
//	version.go   versions of dense weights
//	checksum.go  the checksum of header and heads
//	section.go   the sections after the header, written and read
//	encoding.go  floats in fewer bytes
//	floats.go    floats as bytes, without copying
//	piece.go     messages in several frames
//	position.go  the places of a worker's threads in its data
//	control.go   the control messages, as JSON blobs
//	build.go     a frame written
//	times.go     how long requests take
package wire
