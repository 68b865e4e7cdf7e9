//go:build amd64 || arm64

package kernels

// turn8 is turnPanel for 8 rows and a depth that is a multiple of 4.
//
//go:noescape
func turn8(panel []float32, height int, src []float32, stride, depth int)

// copy8 is copyPanel for a number of rows that is a multiple of 8; neither that nor the depth may be 0.
//
//go:noescape
func copy8(panel []float32, height int, src []float32, stride, rows, depth int)

// turnDepth is the number of columns whose part of a panel stays in the first-level cache while its rows are filled.
const turnDepth = 128

// turnPanelBlocks is turnPanel in blocks of 8 rows and 4 columns, and by element around them.
func turnPanelBlocks(panel []float32, height int, src []float32, stride, rows, depth int) {
	rows8, depth4 := rows&^7, depth&^3
	for p := 0; p < depth4; p += turnDepth {
		for r := 0; r < rows8; r += 8 {
			turn8(panel[p*height+r:], height, src[r*stride+p:], stride, min(turnDepth, depth4-p))
		}
	}
	if rows8 < rows {
		turnPanel(panel[rows8:], height, src[rows8*stride:], stride, rows-rows8, depth4)
	}
	if depth4 < depth {
		turnPanel(panel[depth4*height:], height, src[depth4:], stride, rows, depth-depth4)
	}
}

// copyPanelBlocks is copyPanel by 8 rows, of which the last overlap those before where their number is no multiple.
func copyPanelBlocks(panel []float32, height int, src []float32, stride, rows, depth int) {
	if rows < 8 {
		copyPanel(panel, height, src, stride, rows, depth)
		return
	}
	copy8(panel, height, src, stride, rows&^7, depth)
	if last := rows - 8; rows%8 != 0 {
		copy8(panel[last:], height, src[last:], stride, 8, depth)
	}
}
