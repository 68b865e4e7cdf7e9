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

// Mix spreads ids over servers: row id of an open embedding lives on server Mix(id) % servers. Ids that come in runs or
// in multiples (user numbers, hashed features of one slot) spread as evenly as random ones.
//
// It is the finaliser of splitmix64 and frozen, since it decides where a saved row belongs:
//
//	x ^= x >> 30; x *= 0xbf58476d1ce4e5b9; x ^= x >> 27; x *= 0x94d049bb133111eb; x ^= x >> 31
//
//	Mix(0) = 0
//	Mix(1) = 0x5692161d100b05e5
//	Mix(2) = 0xdbd238973a2b148a
//	Mix(1<<63) = 0x25c26ea579cea98a
//	Mix(1<<64-1) = 0xb4d055fcf2cbbd7b
func Mix(id uint64) uint64 {
	id ^= id >> 30
	id *= 0xbf58476d1ce4e5b9
	id ^= id >> 27
	id *= 0x94d049bb133111eb
	return id ^ id>>31
}
