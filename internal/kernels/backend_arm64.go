package kernels

// fastest returns the best path of this processor.
func fastest() *backend { return &neon }

// paths returns all paths that this processor can run, the best last. Every arm64 has NEON.
func paths() []*backend { return []*backend{&portable, &neon} }

var neon = withNEON(portable)

func withNEON(b backend) backend {
	b.name = "neon"
	b.micro = microKernel{rows: 8, cols: 8, run: micro8x8}
	b.copyPanel, b.turnPanel = copyPanelBlocks, turnPanelBlocks
	return b
}

//go:noescape
func micro8x8(k int, a []float32, row, col int, b, c []float32, ldc int, accumulate bool)
