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
	b.axpy, b.beyond, b.scaled, b.add, b.mul = axpyNEON, beyondNEON, scaledNEON, addNEON, mulNEON
	b.dot, b.sum, b.max = dotNEON, sumNEON, maximumNEON
	b.relu, b.exp, b.sigmoid, b.tanh = reluNEON, expNEON, sigmoidNEON, tanhNEON
	b.reluGrad, b.sigmoidGrad, b.tanhGrad, b.softmaxGrad = reluGradNEON, sigmoidGradNEON, tanhGradNEON, softmaxGradNEON
	b.addWide, b.addSquares = byFours(addWideLanes, addWide), byFours(addSquaresLanes, addSquares)
	b.normal = normalByFours
	b.half, b.bfloat, b.int8 = halfLanes, bfloatLanes, int8Lanes
	b.fromHalf, b.fromBFloat, b.fromInt8 = fromHalfLanes, fromBFloatLanes, fromInt8Lanes
	b.gather, b.scatter = gatherNEON, scatterNEON
	return b
}

//go:noescape
func micro8x8(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)
