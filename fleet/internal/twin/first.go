package twin

// First values of a param, as SERVING.md has them for a reader of saved models: uniform between -spread and spread,
// functions of the graph's seed, the name, the row and the column.

// firstDense are n initial values of a dense variable.
func firstDense(seed uint64, name string, spread float64, n int) []float64 {
	return uniform(stream(seed, name), spread, n)
}

// firstRow are those of a row.
func firstRow(seed uint64, name string, id uint64, spread float64, n int) []float64 {
	return uniform(scramble(stream(seed, name)^scramble(id+1)), spread, n)
}

func uniform(key uint64, spread float64, n int) []float64 {
	w, low := make([]float64, n), float64(float32(-spread))
	for i := range w {
		unit := float64(scramble(key+uint64(i+1)*0x9e3779b97f4a7c15)>>11) / (1 << 53)
		w[i] = float64(float32(low - 2*low*unit))
	}
	return w
}

func stream(seed uint64, name string) uint64 {
	key := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		key = (key ^ uint64(c)) * 1099511628211
	}
	return scramble(key ^ scramble(seed+0x9e3779b97f4a7c15))
}

func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
