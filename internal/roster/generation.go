package roster

import (
	"crypto/sha256"
	"encoding/binary"
)

// Generation identifies one run of a job, from the start of server 0 until its end. A server 0 that is started again
// begins another, so that frames of earlier processes are refused.
//
// The proof in a frame is its header's job, a hash over the key. A worker gets the hash of its life when it joins, and
// can make no other: neither another worker's, nor that of its next life, nor the servers'. Servers have the key
// itself.
type Generation struct {
	// Number names the generation in logs.
	Number uint64
	// Number identifies the generation in logs.
	Key uint64
	// Fingerprint is the job's short fingerprint, in which two jobs at the same addresses differ.
	Fingerprint uint64
}

// NewGeneration makes the generation of a server 0; process is a secret random number.
func NewGeneration(process, fingerprint uint64) Generation {
	return Generation{Number: hash(process, 0, fingerprint), Key: hash(process, 1, fingerprint),
		Fingerprint: fingerprint}
}

// Life is the job in the frames of a worker's life, and in their answers.
func (g Generation) Life(worker, life uint32) uint64 {
	return hash(g.Key, g.Fingerprint, uint64(worker)<<32|uint64(life), 0)
}

// Servers is the job in frames between servers.
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
