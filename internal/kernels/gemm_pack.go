package kernels

func transpose(v matrix) matrix { return matrix{v.data, v.col, v.row} }

// packPanel copies the first rows rows and depth columns of v to panel, column by column, each padded with zeros to height.
func packPanel(panel []float32, v matrix, rows, height, depth int) {
	if rows < height {
		clear(panel)
	}
	if v.row == 1 {
		packColumns(panel, v, rows, height, depth)
		return
	}
	for r := range rows {
		from := v.data[r*v.row:]
		for p := range depth {
			panel[p*height+r] = from[p*v.col]
		}
	}
}

// packColumns is packPanel for columns that are contiguous.
func packColumns(panel []float32, v matrix, rows, height, depth int) {
	for p := range depth {
		copy(panel[p*height:][:rows], v.data[p*v.col:][:rows])
	}
}
