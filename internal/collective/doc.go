// Package collective lets the workers of a job that has no servers add their gradients up among themselves.
//
//	g, err := collective.New(ctx, collective.Config{Rank: 1, Endpoints: endpoints, Transport: t})
//	err = g.Join(ctx)                                           // until every rank is there
//	err = collective.AllReduce(ctx, g, collective.Sum, w, b)    // w and b hold the sums now, the same bits on every rank
//	all, err := g.AllGather(ctx, []byte("what I have"))         // by rank
//	err = g.Leave(ctx)                                          // when every rank has come here too
//
// Every rank makes the same calls in the same order. If one makes another call, all get an error that names both calls.
//
// # How
//
// Tensors are addressed as one long vector, without copying. The vector is cut into buckets (32 MiB), a bucket into one
// segment for each rank, a segment into chunks. Rank r owns segment r: the others call it with their parts of it, chunk
// by chunk, several at once. When it has all parts of a chunk it adds them up, and answers each call with the sum. So
// every rank sends and receives 2·(N−1)/N of the vector, as in a ring, but in one round trip for a chunk instead of
// 2·(N−1) hops, for any N. The terms are added in the order of ranks, whatever the cut, the transport or the order of
// arrival: the result depends only on the ranks' values, and is equal bit for bit on all ranks and over runs. Servers
// add gradients up in the same order.
//
// # What can go wrong
//
// A message carries the generation of the group (a hash of the lives of its processes), the number of the collective
// and the chunk. A message that arrives twice is answered again and counted once; a late one is dropped. Answers are
// kept until all ranks have reached the next collective, so a call whose answer was lost can be repeated.
//
// Every wait ends: after Config.WaitTimeout if a rank lives but does not take part, after Config.SilenceTimeout if it
// does not answer, after a few probes if its machine refuses connections, and at once when a rank reports that it has
// failed, or was restarted. The error names the missing ranks and the collective. A group that has failed stays so,
// since the ranks can't tell what the others hold.
//
// # Files, in reading order
//
// The group:
//
//	message.go  the format of messages
//	members.go  the state of each rank, as this one sees it
//	call.go     one message to another rank, repeated while that is safe
//	round.go    this rank's state of a collective
//	rounds.go   the last two collectives
//	group.go    configuration, beginning and end of a group
//	join.go     joining and leaving
//	handle.go   answering a message of another rank
//	watch.go    probes, and ranks that fall silent
//
// A collective:
//
//	reduce.go   AllReduce, Broadcast, Mean and Barrier
//	vector.go   tensors as one vector, cut for the ranks
//	fold.go     reducing the ranks' elements to one
//	element.go  types of elements, and their bytes
//	gather.go   AllGather
package collective
