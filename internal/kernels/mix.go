package kernels

// Mix spreads numbers over all numbers; it is the finaliser of splitmix64 (Steele, Lea and Flood 2014). Ids that come
// in runs or in multiples (user numbers, hashed features of one slot) spread as evenly as random ones.
//
// It is frozen, since row id of an open embedding lives on server Mix(id) % servers, also in saved tables, and since
// first weights are made of it:
//
//	x ^= x >> 30; x *= 0xbf58476d1ce4e5b9; x ^= x >> 27; x *= 0x94d049bb133111eb; x ^= x >> 31
//
//	Mix(0) = 0
//	Mix(1) = 0x5692161d100b05e5
//	Mix(2) = 0xdbd238973a2b148a
//	Mix(1<<63) = 0x25c26ea579cea98a
//	Mix(1<<64-1) = 0xb4d055fcf2cbbd7b
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Stream returns the random stream of what has this name under this seed.
func Stream(seed uint64, name string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a; never change it: initial values depend on it
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return Mix(h ^ Mix(seed+0x9e3779b97f4a7c15))
}
