package wire

// Versions of a server's dense weights count its updates. A process that takes a server's place goes on above all
// versions of the one before, at a multiple of Incarnation: what it has may be the same updates in another order.
const Incarnation = 1 << 32

// Between is how many updates lie between two versions, which is not known of versions of two processes.
func Between(from, to uint64) (updates int64, known bool) {
	if to < from || from/Incarnation != to/Incarnation {
		return 0, false
	}
	return int64(to - from), true
}
