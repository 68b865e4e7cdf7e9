package kernels

// A packed panel holds rows of a matrix column by column, height elements for each column; missing rows are zeros.

// packPanel copies the first rows rows and depth columns of v to panel.
func packPanel(panel []float32, v matrix, rows, height, depth int) {
	if rows < height {
		clear(panel)
	}
	if v.row == 1 {
		active.copyPanel(panel, height, v.data, v.col, rows, depth)
	} else {
		active.turnPanel(panel, height, v.data, v.row, rows, depth)
	}
}

// copyPanel fills a panel from columns that are contiguous and start stride elements apart.
func copyPanel(panel []float32, height int, src []float32, stride, rows, depth int) {
	for p := range depth {
		copy(panel[p*height:][:rows], src[p*stride:][:rows])
	}
}

// turnPanel fills a panel from rows that are contiguous and start stride elements apart.
func turnPanel(panel []float32, height int, src []float32, stride, rows, depth int) {
	for r := range rows {
		for p, v := range src[r*stride:][:depth] {
			panel[p*height+r] = v
		}
	}
}
