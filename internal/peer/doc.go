// Package peer sends a process's requests to another process: one attempt, its repetition, and the same for many peers
// at once. Workers use it for servers, servers for each other, and ranks of a collective job for ranks.
//
// A network loses requests and answers without an error, and a peer may be starting, busy or gone; a caller can only
// see whether an attempt was answered. Every request in this module may therefore be repeated: the receiver counts it
// once. Callers differ in when they give up. Each decides after an attempt, by a [Verdict]: a peer that has shown life
// in another way gets more time than a silent one.
package peer
