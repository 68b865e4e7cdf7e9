package placement

// hashString is the hash of CPython 2.7 for a byte string on 64 bits, not randomised:
// x = c0<<7; for each byte x = 1000003·x XOR c; x XOR length; -1 becomes -2.
func hashString(s string) int64 {
	if s == "" {
		return 0
	}
	x := int64(s[0]) << 7
	for i := range len(s) {
		x = 1000003*x ^ int64(s[i])
	}
	if x ^= int64(len(s)); x == -1 {
		return -2
	}
	return x
}

// floorMod is x modulo n with a result in [0, n), whatever x's sign.
func floorMod(x int64, n int) int {
	return int(((x % int64(n)) + int64(n)) % int64(n))
}
