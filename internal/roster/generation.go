package roster

import (
	"crypto/sha256"
	"encoding/binary"
)

// Generation is what the processes of a job share from the moment server 0 begins until it ends. A server 0 that is
// started again begins another, so that frames of earlier processes are refused.
//
// What a frame has to prove is in its header's job, a hash over the key. A worker is told the number of its life when
// it joins, and can make no other: neither another worker's, nor that of its next life, nor the servers'. Servers have
// the key itself.
type Generation struct {
	// Number names the generation in logs.
	Number uint64
	// Key is known to servers alone.
	Key uint64
	// Fingerprint is the job's, short: two jobs at the same addresses differ in it.
	Fingerprint uint64
}

// NewGeneration is the generation of a server 0, whose process has drawn a secret random number.
func NewGeneration(process, fingerprint uint64) Generation {
	return Generation{Number: hash(process, 0, fingerprint), Key: hash(process, 1, fingerprint),
		Fingerprint: fingerprint}
}

// Life is the job of the frames of a worker's life, and of the answers to them.
func (g Generation) Life(worker, life uint32) uint64 {
	return hash(g.Key, g.Fingerprint, uint64(worker)<<32|uint64(life), 0)
}

// Servers is the job of frames between servers.
func (g Generation) Servers() uint64 { return hash(g.Key, g.Fingerprint, 0, 1) }

// hash is the beginning of a SHA-256, which can't be inverted.
func hash(words ...uint64) uint64 {
	var b [32]byte
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	sum := sha256.Sum256(b[:])
	return binary.LittleEndian.Uint64(sum[:])
}
