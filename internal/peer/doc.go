// Package peer is how a process talks to another: one attempt, its repetition, and the same for many at once. Workers
// use it for servers, servers for each other, and ranks of a collective job for ranks.
//
// A network loses requests and answers without a word, and a peer may be starting, busy or gone; what a caller can tell
// of that is only whether an attempt was answered. So every request in this module may be repeated: the receiver counts
// it once. What differs between callers is when they give up, which each decides after an attempt, as a [Verdict]: who
// has shown life by another way is waited for longer than who is silent.
package peer
