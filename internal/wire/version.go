package wire

// Incarnation separates the versions of two processes. Versions of a server's dense weights count its updates; a
// process that takes a server's place begins above all versions of the one before, at a multiple of Incarnation, since
// it may have the same updates in another order.
const Incarnation = 1 << 32

// Between is the number of updates between two versions; known is false if they are of two processes.
func Between(from, to uint64) (updates int64, known bool) {
	if to < from || from/Incarnation != to/Incarnation {
		return 0, false
	}
	return int64(to - from), true
}
