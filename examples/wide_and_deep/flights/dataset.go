package flights

import "github.com/gofleet/gofleet/dataset"

// Height is the number of ids: the embedding has so many rows.
const Height = 1_000_001

// Dataset is every flight as wide & deep eats it, in the order of departure:
//
//	dense_input [N,13] float32    numbers, as Numbers names them, about −1 to 1
//	C           [N,20] int64      plain and crossed categories, as Categories names them, hashed below Height
//	label       [N,1]  float32    1 if the flight arrived more than 15 minutes late, else 0
//
// The hash is frozen: a flight has the same ids in every process and release.
//
// Shuffle before Take: rows next to each other are of the same hour.
func Dataset(d *Data) *dataset.Dataset {
	n := d.Len()
	dense, ids, labels := make([]float32, 0, n*len(numbers)), make([]int64, 0, n*len(categories)), make([]float32, n)
	m := newMaker(d)
	for i := range n {
		f := m.flight(i)
		dense = f.appendNumbers(dense)
		ids = f.appendIDs(ids)
		if d.Late[i] {
			labels[i] = 1
		}
	}
	return dataset.FromColumns(
		dataset.FloatValues("dense_input", dense, len(numbers)),
		dataset.IntValues("C", ids, len(categories)),
		dataset.FloatValues("label", labels))
}

// Split loads the flights, n of them drawn by the seed or all if n is 0, and splits them into training and test rows,
// four to one.
func Split(n int, seed uint64) (train, test *dataset.Dataset, err error) {
	all, err := Load()
	if err != nil {
		return nil, nil, err
	}
	rows := Dataset(all)
	if n > 0 {
		rows = rows.Shuffle(seed).Take(n)
	}
	train, test = rows.Split(0.8, seed)
	return train, test, nil
}

// Numbers names the values of dense_input, in order.
func Numbers() []string {
	var names []string
	for _, n := range numbers {
		names = append(names, n.name)
	}
	return names
}

// Categories names the columns of C, in order; a cross of several has × between them.
func Categories() []string {
	var names []string
	for _, c := range categories {
		names = append(names, c.name)
	}
	return names
}

func (f *flight) appendNumbers(to []float32) []float32 {
	for _, n := range numbers {
		to = append(to, n.value(f))
	}
	return to
}

func (f *flight) appendIDs(to []int64) []int64 {
	for column, c := range categories {
		to = append(to, id(column, c.key(f)))
	}
	return to
}

// id hashes a key of a column: the finaliser of splitmix64 of both, modulo Height.
func id(column int, key uint64) int64 { return int64(mix(mix(uint64(column)+1)^key) % Height) }

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
