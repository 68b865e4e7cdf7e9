// Package codec makes messages smaller: none, s2, zstd and gzip behind one interface, each with a number on the wire
// that never changes and a bound on the decoded size.
//
//	c, err := codec.ByName("zstd")
//	small := c.Encode(nil, message)
//	again, err := c.Decode(nil, small, len(message)) // an error if the decoded message is longer
//
// Which codec pays depends on the message. Raw float32 gradients do not compress, and s2 and zstd detect that quickly;
// ids, rows of zeros and text do compress. s2 costs least, zstd (at its fastest level) saves most, gzip is for clusters
// that require it; "go test ./transport/codec -run xxx -bench Codec" shows the time and the size for each on this
// machine.
//
// A codec keeps its working memory between messages and is safe for concurrent use. ByName and ByID make a new one each
// time, so that tests and fleets share no codec.
package codec
