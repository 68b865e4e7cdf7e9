// Package collective lets the workers of a job that has no servers add their gradients up among themselves.
//
//	g, err := collective.New(ctx, collective.Config{Rank: 1, Endpoints: endpoints, Transport: t})
//	err = g.Join(ctx)                                           // until every rank is there
//	err = collective.AllReduce(ctx, g, collective.Sum, w, b)    // w and b hold the sums now, the same bits on every rank
//	all, err := g.AllGather(ctx, []byte("what I have"))         // by rank
//	err = g.Leave(ctx)                                          // when every rank has come here too
//
// Every rank makes the same calls in the same order; one that makes another is told what the others are doing.
//
// # How
//
// Tensors are taken as one long vector, without copying, and cut into buckets (32 MiB), a bucket into one segment for
// each rank, a segment into chunks. Rank r owns segment r: the others call it with their parts of it, chunk by chunk,
// several at once; it adds up what it has when all are there, and the answer to each call is the sum. So every rank
// sends and receives 2·(N−1)/N of the vector, as in a ring, but in one round trip for a chunk instead of 2·(N−1) hops,
// for any N, and the terms are added in the order of ranks, whatever the cut, the transport or who came first: the
// result is a pure function of what the ranks hold, equal bit for bit on all of them and over runs. It is also the
// order in which servers add gradients up.
//
// # What can go wrong
//
// A message carries the generation of the group (a hash of the lives of its processes), the number of the collective
// and the chunk. What arrives twice is answered again and counted once; what arrives late is dropped. Answers are kept
// until all ranks have gone on, so a call whose answer was lost can be repeated.
//
// Every wait ends: with Config.WaitTimeout while a rank is alive elsewhere, with Config.SilenceTimeout when it doesn't
// answer, after a few probes when its machine refuses connections, and at once when a rank says
// that it failed, or was started again. The error says who is missing and what was waited for. A group that failed once
// stays so, for the ranks can't know any more what the others have.
//
// # Files, in reading order
//
// The group:
//
//	message.go  the bytes
//	members.go  what a rank knows of the others
//	call.go     one message to another, repeated while that is safe
//	round.go    a collective, as this rank takes part in it
//	rounds.go   the last two of them
//	group.go    what a rank is made of
//	join.go     how it begins, and how it ends
//	handle.go   a message of another rank
//	watch.go    ranks that fall silent
//
// A collective:
//
//	reduce.go   AllReduce and Broadcast
//	vector.go   tensors as one vector, cut for the ranks
//	fold.go     the ranks' elements made one
//	element.go  what can be added up
//	gather.go   AllGather
package collective
